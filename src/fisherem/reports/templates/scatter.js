// The scatter of the discriminative subspace. Text from the data reaches the page as text nodes only.
(function () {
  "use strict";
  const data = Page.data, byId = Page.byId, el = Page.svg, marked = Marking.marked;
  const plot = byId("plot"), tip = byId("tip"), figure = byId("scatter"), only = byId("only-marked");
  const K = data.groups.length;
  const n = data.axes[0].length; // the rows that are drawn are the first of those that are listed
  const drawn = data.group.slice(0, n);
  const flat = data.axes.length === 1;
  const MARGIN = { left: 48, right: 12, top: 12, bottom: 40 };
  const LABEL = 22; // characters of a group's name beside its strip, and of a variable's at its arrow
  const REACH = 16; // pixels: how near the pointer must be to a mark
  const STRIP = 1.96; // 95% of a normal density on a line
  const MOST_ARROWS = 10; // more would cover the points; a marked variable has its arrow in any case
  const state = { x: 0, y: flat ? 0 : 1, view: null, home: null, width: 0, height: 0, drag: null, dragged: false };

  const bands = flat ? Geometry.bands(drawn, K) : null;
  const xOf = (i) => data.axes[state.x][i];
  const yOf = (i) => (flat ? bands[i] : data.axes[state.y][i]);

  const ellipse = (k) => Geometry.ellipse(data.centres[k], data.covariances[k], state.x, state.y);

  function homeView() {
    const xs = data.axes[state.x], ys = flat ? bands : data.axes[state.y];
    const w = state.width - MARGIN.left - MARGIN.right, h = state.height - MARGIN.top - MARGIN.bottom;
    if (flat) return { ...Geometry.range(xs, [0], 0.06), y0: -K + 0.45, y1: 0.5 };
    const outlines = data.groups.flatMap((_, k) => ellipse(k));
    const view = Geometry.range([...xs, ...outlines.map((o) => o[0])], [...ys, ...outlines.map((o) => o[1])], 0.04);
    return Geometry.equalUnits(view, w, h);
  }

  const px = (x) =>
    MARGIN.left + ((x - state.view.x0) / (state.view.x1 - state.view.x0)) * (state.width - MARGIN.left - MARGIN.right);
  const py = (y) =>
    state.height - MARGIN.bottom -
    ((y - state.view.y0) / (state.view.y1 - state.view.y0)) * (state.height - MARGIN.top - MARGIN.bottom);
  const ux = (p) =>
    state.view.x0 + ((p - MARGIN.left) / (state.width - MARGIN.left - MARGIN.right)) * (state.view.x1 - state.view.x0);
  const uy = (p) =>
    state.view.y0 +
    ((state.height - MARGIN.bottom - p) / (state.height - MARGIN.top - MARGIN.bottom)) * (state.view.y1 - state.view.y0);

  // -- the drawing: layers are made once, positions follow the view ------------------------------------------------

  const svg = el("svg", { "aria-hidden": "true" }, plot);
  const clip = el("rect", {}, el("clipPath", { id: "inside" }, el("defs", {}, svg)));
  const frame = el("g", {}, svg);
  const inside = el("g", { "clip-path": "url(#inside)" }, svg);
  const layers = data.groups.map((g) => {
    const layer = el("g", { class: "g" + g.colour + (g.hollow ? " hollow" : ""), "data-group": data.groups.indexOf(g) }, inside);
    return { layer: layer, shape: el("path", { class: flat ? "centre" : "ellipse" }, layer) };
  });
  const marks = drawn.map((k) => el("path", { class: "point", d: data.marks[data.groups[k].shape] }, layers[k].layer));
  const arrows = el("g", {}, inside);
  const ring = el("circle", { class: "ringed", r: 10, visibility: "hidden" }, inside);
  const halo = el("circle", { class: "halo", r: 8, visibility: "hidden" }, inside);
  const brush = el("rect", { class: "brush", visibility: "hidden" }, svg);

  const axisName = (j) => (state.width < 500 ? "axis " + (j + 1) : data.axisNames[j]); // what it is made of, where there is room
  const label = (g) => Page.shorten(g.own ? g.name : g.name.replace("group ", ""), state.width < 500 ? 6 : LABEL);

  function drawFrame() {
    frame.replaceChildren();
    const right = state.width - MARGIN.right, bottom = state.height - MARGIN.bottom;
    for (const [v, label] of Geometry.ticks(state.view.x0, state.view.x1, state.width < 500 ? 4 : 8)) {
      el("line", { x1: px(v), x2: px(v), y1: MARGIN.top, y2: bottom, class: "grid" }, frame);
      el("text", { x: px(v), y: bottom + 17, "text-anchor": "middle", class: "tick" }, frame, label);
    }
    if (flat) {
      data.groups.forEach((g, k) => {
        if (py(-k) > MARGIN.top && py(-k) < bottom)
          el("text", { x: MARGIN.left - 6, y: py(-k) + 4, "text-anchor": "end", class: "tick" }, frame, label(g));
      });
    } else {
      for (const [v, label] of Geometry.ticks(state.view.y0, state.view.y1, 6)) {
        el("line", { x1: MARGIN.left, x2: right, y1: py(v), y2: py(v), class: "grid" }, frame);
        el("text", { x: MARGIN.left - 6, y: py(v) + 4, "text-anchor": "end", class: "tick" }, frame, label);
      }
    }
    const middle = (MARGIN.top + bottom) / 2;
    const across = (MARGIN.left + right) / 2;
    el("text", { x: across, y: state.height - 4, "text-anchor": "middle", class: "axis", id: "label-x" }, frame, axisName(state.x));
    const up = flat ? "group" : axisName(state.y);
    const turned = { x: 10, y: middle, "text-anchor": "middle", class: "axis", id: "label-y", transform: `rotate(-90 10 ${middle})` };
    el("text", turned, frame, up);
    el("rect", { x: MARGIN.left, y: MARGIN.top, width: right - MARGIN.left, height: bottom - MARGIN.top, class: "frame" }, frame);
  }

  function drawArrows() {
    arrows.replaceChildren();
    if (flat) return;
    const mx = (state.home.x0 + state.home.x1) / 2, my = (state.home.y0 + state.home.y1) / 2;
    const length = (a) => Math.hypot(a.loadings[state.x], a.loadings[state.y]);
    const longest = Math.max(...data.arrows.map(length)) || 1;
    const reach = 0.42 * Math.min(state.home.x1 - state.home.x0, state.home.y1 - state.home.y0);
    const all = byId("show-arrows").checked;
    data.arrows.forEach((a, i) => {
      const on = a.variable === marked.variable;
      if (!on && (i >= MOST_ARROWS || length(a) < 0.05 * longest)) return;
      const arrow = el("g", { "data-variable": a.variable, visibility: all || on ? "inherit" : "hidden" }, arrows);
      const x = px(mx + (reach * a.loadings[state.x]) / longest), y = py(my + (reach * a.loadings[state.y]) / longest);
      const angle = (Math.atan2(y - py(my), x - px(mx)) * 180) / Math.PI;
      el("line", { x1: px(mx), y1: py(my), x2: x, y2: y, class: "arrow" }, arrow);
      el("path", { d: "M2,0L-6,-3.5V3.5Z", transform: `translate(${x},${y}) rotate(${angle})`, class: "arrowhead" }, arrow);
      const left = x < px(mx);
      const room = left ? x - MARGIN.left : state.width - MARGIN.right - x;
      const most = Math.max(5, Math.min(LABEL, Math.floor((room - 8) / 7.2)));
      const name = Page.shorten(a.name, most);
      el("text", { x: x + (left ? -7 : 7), y: y + 4, "text-anchor": left ? "end" : "start", class: "arrowname" }, arrow, name);
    });
  }

  function draw() {
    clip.setAttribute("x", MARGIN.left);
    clip.setAttribute("y", MARGIN.top);
    clip.setAttribute("width", state.width - MARGIN.left - MARGIN.right);
    clip.setAttribute("height", state.height - MARGIN.top - MARGIN.bottom);
    drawFrame();
    layers.forEach(({ shape }, k) => {
      if (flat) {
        const half = STRIP * Math.sqrt(Math.max(data.covariances[k][0][0], 0)), c = data.centres[k][0], y = py(-k - 0.38);
        shape.setAttribute("d", `M${px(c - half)},${y}H${px(c + half)}M${px(c)},${y - 5}v10`);
      } else {
        shape.setAttribute("d", "M" + ellipse(k).map(([x, y]) => px(x).toFixed(1) + "," + py(y).toFixed(1)).join("L") + "Z");
      }
    });
    const scale = n > 1500 ? 0.7 : n > 400 ? 0.85 : 1;
    for (let i = 0; i < n; i++)
      marks[i].setAttribute("transform", `translate(${px(xOf(i)).toFixed(1)},${py(yOf(i)).toFixed(1)}) scale(${scale})`);
    drawArrows();
    drawRing();
    hideTip();
  }

  function drawRing() {
    const i = marked.row;
    ring.setAttribute("visibility", i !== null && i < n ? "visible" : "hidden");
    if (i === null || i >= n) return;
    ring.setAttribute("cx", px(xOf(i)));
    ring.setAttribute("cy", py(yOf(i)));
  }

  function resize() {
    const style = getComputedStyle(plot);
    const width = plot.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    if (width < 120 || Math.abs(width - state.width) < 1) return; // too narrow to draw in: a page that is being laid out
    const atHome = !state.view || same(state.view, state.home);
    state.width = width;
    if (flat) MARGIN.left = Math.max(48, 26 + 6.2 * Math.max(...data.groups.map((g) => label(g).length)));
    state.height = flat ? Math.max(180, 60 + 70 * K) : Math.max(320, Math.min(560, width * 0.68));
    svg.setAttribute("viewBox", `0 0 ${state.width} ${state.height}`);
    state.home = homeView();
    if (atHome) state.view = { ...state.home };
    draw();
  }

  // -- the view ------------------------------------------------------------------------------------------------------

  const same = (a, b) => ["x0", "x1", "y0", "y1"].every((key) => a[key] === b[key]);

  function setView(view) {
    const home = state.home, wide = home.x1 - home.x0;
    if (view.x1 - view.x0 < wide * 1e-4) return;
    const out = view.x1 - view.x0 > wide * 1.0001 && (flat || view.y1 - view.y0 > (home.y1 - home.y0) * 1.0001);
    state.view = out ? { ...home } : view;
    draw();
  }

  function zoom(factor, x, y) {
    const v = state.view;
    const cx = x === undefined ? (v.x0 + v.x1) / 2 : x, cy = y === undefined ? (v.y0 + v.y1) / 2 : y;
    setView({
      x0: cx + (v.x0 - cx) * factor, x1: cx + (v.x1 - cx) * factor,
      y0: flat ? v.y0 : cy + (v.y0 - cy) * factor, y1: flat ? v.y1 : cy + (v.y1 - cy) * factor,
    });
  }

  function move(dx, dy) {
    const v = state.view, h = state.home;
    const keep = (low, high, shift, a, b) => Math.max(a - (high - low) * 0.5 - low, Math.min(b + (high - low) * 0.5 - high, shift));
    dx = keep(v.x0, v.x1, dx, h.x0, h.x1);
    dy = flat ? 0 : keep(v.y0, v.y1, dy, h.y0, h.y1);
    setView({ x0: v.x0 + dx, x1: v.x1 + dx, y0: v.y0 + dy, y1: v.y1 + dy });
  }

  function reset() {
    state.home = homeView();
    state.view = { ...state.home };
    draw();
  }

  // -- pointing at a row ---------------------------------------------------------------------------------------------

  function at(event) {
    const box = svg.getBoundingClientRect();
    const k = state.width / box.width;
    return [(event.clientX - box.left) * k, (event.clientY - box.top) * k];
  }

  function nearest(x, y) {
    let best = -1, least = REACH * REACH;
    for (let i = 0; i < n; i++) {
      if (only.checked && marked.group !== null && data.group[i] !== marked.group) continue;
      const dx = px(xOf(i)) - x, dy = py(yOf(i)) - y, d = dx * dx + dy * dy;
      if (d < least) {
        least = d;
        best = i;
      }
    }
    return best;
  }

  function showTip(i) {
    const lines = [data.ids[i], `${data.groups[data.group[i]].name}, posterior ${data.posterior[i].toFixed(3)}`];
    if (data.second[i] >= 0 && data.secondPosterior[i] >= 0.0005)
      lines.push(`next: ${data.groups[data.second[i]].name}, ${data.secondPosterior[i].toFixed(3)}`);
    if (data.subgroup && data.subgroup[i] >= 0) lines.push("inside it: " + data.subgroups[data.subgroup[i]].name);
    if (data.reproducibility) lines.push(`found again in ${Math.round(100 * data.reproducibility[i])}% of the refits`);
    if (data.placed && data.placed[i] !== data.group[i]) lines.push("the selected variables would place it in " + data.groups[data.placed[i]].name);
    if (data.classes && data.classes[i]) lines.push("class: " + data.classes[i]);
    const box = svg.getBoundingClientRect(), around = figure.getBoundingClientRect();
    const k = box.width / state.width;
    Page.showTip(tip, figure, px(xOf(i)) * k + box.left - around.left, py(yOf(i)) * k + box.top - around.top, lines);
    halo.setAttribute("cx", px(xOf(i)));
    halo.setAttribute("cy", py(yOf(i)));
    halo.setAttribute("visibility", "visible");
  }

  function hideTip() {
    tip.hidden = true;
    halo.setAttribute("visibility", "hidden");
  }

  // -- what the reader does ------------------------------------------------------------------------------------------

  plot.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    const drag = state.drag;
    if (!drag) {
      const i = nearest(x, y);
      return i < 0 ? hideTip() : showTip(i);
    }
    hideTip();
    if (drag.pan) {
      const dx = ux(drag.x) - ux(x), dy = uy(drag.y) - uy(y);
      [drag.x, drag.y] = [x, y];
      return move(dx, dy);
    }
    const y0 = flat ? MARGIN.top : Math.min(y, drag.y), y1 = flat ? state.height - MARGIN.bottom : Math.max(y, drag.y);
    const box = { x: Math.min(x, drag.x), y: y0, width: Math.abs(x - drag.x), height: y1 - y0, visibility: "visible" };
    for (const key in box) brush.setAttribute(key, box[key]);
  });
  plot.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch" || event.button !== 0) return; // a finger scrolls the page
    const [x, y] = at(event);
    state.drag = { x: x, y: y, x0: x, y0: y, pan: event.shiftKey };
    plot.setPointerCapture(event.pointerId);
  });
  const finish = (event) => {
    const drag = state.drag;
    state.drag = null;
    state.dragged = false;
    brush.setAttribute("visibility", "hidden");
    if (drag && event.type !== "pointercancel") {
      const [x, y] = at(event);
      state.dragged = Math.hypot(x - drag.x0, y - drag.y0) > 4;
    }
    if (!drag || drag.pan || event.type === "pointercancel") return;
    const [x, y] = at(event);
    if (Math.abs(x - drag.x) < 8 || (!flat && Math.abs(y - drag.y) < 8)) return;
    const v = state.view;
    setView({
      x0: ux(Math.min(x, drag.x)), x1: ux(Math.max(x, drag.x)),
      y0: flat ? v.y0 : uy(Math.max(y, drag.y)), y1: flat ? v.y1 : uy(Math.min(y, drag.y)),
    });
  };
  plot.addEventListener("pointerup", finish);
  plot.addEventListener("pointercancel", finish);
  plot.addEventListener("pointerleave", hideTip);
  plot.addEventListener("click", (event) => {
    const i = state.dragged ? -1 : nearest(...at(event));
    if (i >= 0) Marking.toggle("row", i);
  });
  plot.addEventListener("wheel", (event) => {
    if (event.deltaY > 0 && same(state.view, state.home)) return; // nothing to zoom out of: the page scrolls
    event.preventDefault();
    const [x, y] = at(event);
    zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.004), ux(x), uy(y));
  }, { passive: false });
  plot.addEventListener("keydown", (event) => {
    const v = state.view, x = 0.15 * (v.x1 - v.x0), y = 0.15 * (v.y1 - v.y0);
    const keys = {
      "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1 / 0.7), 0: reset,
      ArrowLeft: () => move(-x, 0), ArrowRight: () => move(x, 0), ArrowUp: () => move(0, y), ArrowDown: () => move(0, -y),
    };
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  byId("zoom-in").addEventListener("click", () => zoom(0.7));
  byId("zoom-out").addEventListener("click", () => zoom(1 / 0.7));
  byId("reset").addEventListener("click", reset);
  // The marked group is drawn over the others; "only" hides these.
  function showMarked() {
    const order = layers.map((_, k) => k).sort((a, b) => (a === marked.group) - (b === marked.group) || a - b);
    order.forEach((k) => inside.insertBefore(layers[k].layer, arrows));
    layers.forEach(({ layer }, k) => {
      const hide = only.checked && marked.group !== null && k !== marked.group;
      layer.setAttribute("display", hide ? "none" : "inline");
    });
    drawArrows();
    drawRing();
    hideTip();
  }
  Marking.listen(showMarked);
  // The rows of groups that were split have the marks of the groups inside, in the colour of their own.
  const split = byId("show-subgroups");
  if (split)
    split.addEventListener("change", () =>
      marks.forEach((mark, i) => {
        const inner = split.checked && data.subgroup[i] >= 0 ? data.subgroups[data.subgroup[i]] : data.groups[drawn[i]];
        mark.setAttribute("d", data.marks[inner.shape]);
      }));
  only.addEventListener("change", showMarked);
  for (const [id, key, other] of [["axis-x", "x", "y"], ["axis-y", "y", "x"]]) {
    const select = byId(id);
    if (!select) continue;
    select.addEventListener("change", () => {
      const before = state[key];
      state[key] = Number(select.value);
      if (state.x === state.y) {
        state[other] = before; // the two axes change places
        byId("axis-" + other).value = String(before);
      }
      reset();
    });
  }
  if (!flat) {
    byId("show-ellipses").addEventListener("change", (event) =>
      layers.forEach(({ shape }) => shape.setAttribute("visibility", event.target.checked ? "inherit" : "hidden")));
    byId("show-arrows").addEventListener("change", drawArrows);
  }
  new ResizeObserver(resize).observe(plot);
  resize();
})();
