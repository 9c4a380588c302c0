// Niceties only: the page reads the same without them.
(() => {
  'use strict';
  const root = document.documentElement;
  const remembered = {
    get() { try { return localStorage.getItem('gatemark-theme'); } catch { return null; } },
    set(v) { try { localStorage.setItem('gatemark-theme', v); } catch { /* a page from a file may not remember */ } },
  };

  const toggle = document.getElementById('theme');
  if (remembered.get()) root.dataset.theme = remembered.get();
  toggle.hidden = false;
  toggle.addEventListener('click', () => {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
    remembered.set(root.dataset.theme);
  });

  // The section in view, in the bar.
  const links = new Map([...document.querySelectorAll('.bar nav a')].map(a => [a.hash.slice(1), a]));
  const seen = new Set();
  const watch = new IntersectionObserver(entries => {
    for (const e of entries) e.isIntersecting ? seen.add(e.target.id) : seen.delete(e.target.id);
    const current = [...links.keys()].find(id => seen.has(id));
    links.forEach((a, id) => a.classList.toggle('here', id === current));
  }, { rootMargin: '-64px 0px -60% 0px' });
  links.forEach((_, id) => { const s = document.getElementById(id); if (s) watch.observe(s); });

  // A link into something folded unfolds it.
  const unfold = () => {
    for (let e = document.getElementById(decodeURIComponent(location.hash.slice(1))); e; e = e.parentElement)
      if (e.tagName === 'DETAILS') e.open = true;
  };
  addEventListener('hashchange', unfold);
  unfold();

  // Paper has no folds.
  let folded = [];
  addEventListener('beforeprint', () => {
    folded = [...document.querySelectorAll('details:not([open])')];
    folded.forEach(d => { d.open = true; });
  });
  addEventListener('afterprint', () => folded.forEach(d => { d.open = false; }));

  const scaled = { s: [[3600, 'h'], [60, 'min'], [1, 's'], [1e-3, 'ms'], [1e-6, 'µs']], B: [[1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']] };
  const write = (v, unit) => {
    if (unit === 'ratio') return trim(v * 100) + ' %';
    if (unit === '1' || unit === '') return trim(v);
    if (unit === '1/s') return trim(v) + '/s';
    const steps = scaled[unit];
    if (!steps || v === 0) return trim(v) + ' ' + unit;
    const [size, name] = steps.find(([size]) => Math.abs(v) >= size * (size > 1 && unit === 's' ? 10 : 1)) || steps[steps.length - 1];
    return trim(v / size) + ' ' + name;
  };
  const trim = v => Math.abs(v) >= 100 ? Math.round(v).toLocaleString('en') : String(+v.toPrecision(3));

  // A scale as the drawing describes it: ends, their pixels, log, unit, title.
  const scale = text => {
    const [lo, hi, from, to, log, unit, ...title] = text.split('|');
    const a = +lo, b = +hi, p = +from, q = +to;
    return {
      unit, title: title.join('|'),
      value: px => { const f = (px - p) / (q - p); return log === 'true' ? a * Math.pow(b / a, f) : a + f * (b - a); },
    };
  };
  // The points of a path, as drawn.
  const points = d => {
    const out = [];
    let x = 0, y = 0;
    for (const [, op, args] of d.matchAll(/([MLHVh])([^MLHVh]*)/g)) {
      const n = args.trim().split(/ +/).map(Number);
      if (op === 'M' || op === 'L') [x, y] = n; else if (op === 'H') x = n[0]; else if (op === 'V') y = n[0]; else continue;
      out.push([x, y]);
    }
    return out;
  };

  for (const svg of document.querySelectorAll('.plot svg[data-kind]')) {
    const box = svg.closest('.plot');
    const x = scale(svg.dataset.x), y = scale(svg.dataset.y);
    let curves;
    const read = document.createElement('div');
    read.className = 'read';
    read.hidden = true;
    box.append(read);
    const cross = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    cross.setAttribute('class', 'cross');
    const hide = () => { read.hidden = true; cross.remove(); };
    svg.addEventListener('pointerleave', hide);
    svg.addEventListener('pointermove', event => {
      curves ||= [...svg.querySelectorAll('.curve')].map(path => ({ path, title: path.dataset.title, points: points(path.getAttribute('d')) }));
      const view = svg.viewBox.baseVal, area = svg.getBoundingClientRect();
      const px = (event.clientX - area.left) / area.width * view.width, py = (event.clientY - area.top) / area.height * view.height;
      const near = [];
      for (const c of curves) {
        if (c.path.style.display === 'none' || !c.points.length) continue;
        let best = null, bestAway = Infinity;
        for (const p of c.points) {
          const away = svg.dataset.kind === 'scatter' ? Math.hypot(p[0] - px, p[1] - py) : Math.abs(p[0] - px);
          if (away < bestAway || away === bestAway && svg.dataset.kind === 'step') { best = p; bestAway = away; }
        }
        near.push({ c, best, away: Math.hypot(best[0] - px, best[1] - py) });
      }
      near.sort((a, b) => a.away - b.away);
      if (!near.length) return hide();
      const at = near[0].best[0];
      cross.setAttribute('d', `M${at} ${svg.querySelector('.grid').getBBox().y}V${svg.querySelector('.axis').getBBox().y}`);
      svg.append(cross);
      read.replaceChildren();
      const head = document.createElement('b');
      head.textContent = `${x.title} ≈ ${write(x.value(at), x.unit)}`;
      read.append(head);
      for (const { c, best } of near.slice(0, 6)) {
        const line = document.createElement('div'), dot = document.createElement('i');
        dot.style.background = getComputedStyle(c.path).stroke;
        line.append(dot, `${c.title} ${write(y.value(best[1]), y.unit)}`);
        read.append(line);
      }
      read.hidden = false;
      const left = event.clientX - box.getBoundingClientRect().left, flip = left > box.clientWidth / 2;
      read.style.left = flip ? 'auto' : `${left + 16}px`;
      read.style.right = flip ? `${box.clientWidth - left + 16}px` : 'auto';
      read.style.top = '1.2rem';
    });
  }

  // A legend entry switches its curves.
  for (const item of document.querySelectorAll('.legend li')) {
    item.tabIndex = 0;
    item.setAttribute('role', 'button');
    item.setAttribute('aria-pressed', 'true');
    const flip = () => {
      const off = item.classList.toggle('off');
      item.setAttribute('aria-pressed', String(!off));
      for (const path of item.closest('figure').querySelectorAll('.curve[data-title]'))
        if (path.dataset.title === item.dataset.title) path.style.display = off ? 'none' : '';
    };
    item.addEventListener('click', flip);
    item.addEventListener('keydown', e => { if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); flip(); } });
  }
})();
