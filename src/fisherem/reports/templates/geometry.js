// Scales, ticks and outlines: numbers in, numbers out.
const Geometry = (function () {
  "use strict";
  const RADIUS = Math.sqrt(5.991); // 95% of a normal density in a plane

  // Heights of the rows of a single axis: a band per group, rows spread evenly over it, without chance.
  function bands(groups, K) {
    const seen = new Array(K).fill(0);
    return groups.map((k) => -k + 0.56 * (((seen[k]++ * 7) % 17) / 16 - 0.5));
  }

  // The contour of a group's density in the plane of two axes, from the Cholesky factor of its covariance there.
  function ellipse(centre, covariance, x, y) {
    const a = covariance[x][x], b = covariance[x][y], d = covariance[y][y];
    const l11 = Math.sqrt(Math.max(a, 0));
    const l21 = l11 > 0 ? b / l11 : 0;
    const l22 = Math.sqrt(Math.max(d - l21 * l21, 0));
    const out = [];
    for (let s = 0; s < 72; s++) {
      const u = RADIUS * Math.cos((s * Math.PI) / 36), v = RADIUS * Math.sin((s * Math.PI) / 36);
      out.push([centre[x] + l11 * u, centre[y] + l21 * u + l22 * v]);
    }
    return out;
  }

  // The smallest and largest numbers, with a margin.
  function range(xs, ys, margin) {
    const ends = (values) => {
      let low = Infinity, high = -Infinity;
      for (const v of values) {
        if (v < low) low = v;
        if (v > high) high = v;
      }
      const pad = margin * (high - low) || 1;
      return [low - pad, high + pad];
    };
    const [x0, x1] = ends(xs), [y0, y1] = ends(ys);
    return { x0: x0, x1: x1, y0: y0, y1: y1 };
  }

  // The view widened to the same unit on both axes, unless that would leave the picture nearly empty.
  function equalUnits(view, w, h) {
    const ux = (view.x1 - view.x0) / w, uy = (view.y1 - view.y0) / h;
    if (Math.max(ux, uy) > 4 * Math.min(ux, uy)) return view;
    const unit = Math.max(ux, uy);
    const mx = (view.x0 + view.x1) / 2, my = (view.y0 + view.y1) / 2;
    return { x0: mx - (unit * w) / 2, x1: mx + (unit * w) / 2, y0: my - (unit * h) / 2, y1: my + (unit * h) / 2 };
  }

  // [number, label] at steps of 1, 2 or 5 times a power of ten.
  function ticks(low, high, count) {
    const raw = (high - low) / count;
    const power = Math.pow(10, Math.floor(Math.log10(raw)));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.7);
    const out = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-6; i++) out.push(i * step);
    const digits = Math.min(12, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
    const short = Math.max(Math.abs(low), Math.abs(high)) < 1e-3 || step >= 1e5;
    const text = (v) => (v === 0 ? "0" : short ? v.toExponential(1) : v.toFixed(digits));
    return out.map((v) => [v, text(v).replace(/-/g, "−")]);
  }

  return { bands: bands, ellipse: ellipse, range: range, equalUnits: equalUnits, ticks: ticks };
})();
