"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const DASHES = ["", "7 3.5", "2 3", "10 3 2 3", "5 2 5 6"];
  const NS = "http://www.w3.org/2000/svg";
  const state = { hidden: new Set(), against: "rows", log: false };
  const charts = [];

  const svg = (name, attributes, parent) => {
    const element = document.createElementNS(NS, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (parent) parent.appendChild(element);
    return element;
  };
  const word = (name, text, parent) => {
    const element = document.createElement(name);
    element.textContent = text;
    if (parent) parent.appendChild(element);
    return element;
  };
  const known = (value) => value !== null && Number.isFinite(value);
  const significant = (value) => {
    if (value === 0) return "0";
    const digits = Math.max(0, Math.min(12, 2 - Math.floor(Math.log10(Math.abs(value)))));
    return value.toFixed(digits);
  };
  const scaled = (value) => {
    for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) if (Math.abs(value) >= size) return significant(value / size) + unit;
    return significant(value);
  };
  const rowsText = (value) => Math.round(value).toLocaleString("en-US");
  const trimmed = (value, places) => value.toFixed(places).replace(/\B(?=(\d{3})+(?!\d))(?<!\.\d*)/g, ",");

  // ---------------------------------------------------------------------------------------------------- axes

  const UNITS = {
    rows: [[1, "rows in the table"], [1e3, "rows in the table (thousands)"], [1e6, "rows in the table (millions)"], [1e9, "rows in the table (billions)"]],
    bytes: [[1, "size of the table (bytes)"], [1024, "size of the table (KiB)"], [1048576, "size of the table (MiB)"], [1073741824, "size of the table (GiB)"], [1099511627776, "size of the table (TiB)"]],
    time: [[1, "time spent loading (seconds)"], [60, "time spent loading (minutes)"], [3600, "time spent loading (hours)"], [86400, "time spent loading (days)"]],
  };
  const step = (span, wanted) => {
    const rough = Math.max(span, 1e-300) / wanted;
    const power = Math.pow(10, Math.floor(Math.log10(rough)));
    for (const factor of [1, 2, 5, 10]) if (factor * power >= rough * 0.999999) return factor * power;
    return 10 * power;
  };
  const linear = (low, high, wanted, unit) => {
    const size = step((high - low) / unit, wanted) * unit;
    const ticks = [];
    const places = Math.max(0, Math.min(12, -Math.floor(Math.log10(size / unit) + 1e-9)));
    for (let at = Math.ceil(low / size - 1e-9), count = 0; at * size <= high * (1 + 1e-9) && count < 60; at++, count++) {
      const value = at * size;
      ticks.push([value, value === 0 ? "0" : trimmed(value / unit, places)]);
    }
    return { ticks, size };
  };
  // A few counts of connections: each is a tick, the axis is logarithmic where they lie far apart.
  const counted = (values) => {
    const all = [...new Set(values)].sort((a, b) => a - b), low = all[0], high = all[all.length - 1];
    const log = high / low >= 8, min = log ? low * Math.pow(low / high, .03) : 0;
    const at = (v) => (log ? Math.log(v / min) / Math.log(high / min) : (v - min) / (high - min));
    const ticks = [];
    for (const v of all.reverse()) if (!ticks.length || at(ticks[0][0]) - at(v) >= .04) ticks.unshift([v, String(v)]);
    return { title: log ? "connections, logarithmic" : "connections", ticks, at };
  };
  const across = (values, wanted) => {
    let low = Math.min(...values.map((v) => v[0])), high = Math.max(...values.map((v) => v[1]));
    if (!(high > 0)) high = 1;
    // Part of a huge table: not from zero.
    if (!(low > high / 2 && high > low)) low = 0;
    const units = UNITS[state.against];
    let [unit, title] = units[0];
    for (const [size, words] of units) if (high >= 2 * size) [unit, title] = [size, words];
    return { min: low, max: high, title, ticks: linear(low, high, wanted, unit).ticks, at: (v) => (v - low) / (high - low) };
  };
  const upright = (values, kind, log) => {
    const rate = kind.rate, sorted = values.filter((v) => known(v) && (!log || v > 0)).sort((a, b) => a - b);
    if (!sorted.length) return null;
    let low = sorted[0], high = sorted[sorted.length - 1];
    if (log) {
      if (high / low < 1.5) { low /= 1.8; high *= 1.8; } else { low /= 1.05; high *= 1.05; }
      const decades = Math.log10(high / low), ticks = [];
      const factors = decades <= 1 ? [1, 2, 3, 5, 7] : decades <= 3.5 ? [1, 2, 5] : [1];
      for (let e = Math.floor(Math.log10(low)) - 1; e <= Math.log10(high) + 1; e++)
        for (const f of factors) {
          const value = f * Math.pow(10, e);
          if (value >= low && value <= high) ticks.push([value, rate ? scaled(value).replace(/\.0+(?=\D|$)/, "") : String(Number(value.toPrecision(3)))]);
        }
      return { min: low, max: high, ticks, at: (v) => (v > 0 ? (Math.log(v) - Math.log(low)) / (Math.log(high) - Math.log(low)) : null) };
    }
    // A single batch of a thousand times the others must not press them flat.
    const few = Math.max(1, Math.floor(sorted.length / 50)), rest = sorted[sorted.length - 1 - few];
    if (!kind.whole && sorted.length >= 8 && rest > 0 && high > 10 * rest) high = rest * 1.3;
    low = Math.min(0, low);
    if (!(high > 0)) high = 1;
    high *= 1.04;
    const unit = rate ? (high >= 1e9 ? 1e9 : high >= 1e6 ? 1e6 : high >= 2e3 ? 1e3 : 1) : 1;
    const letter = { 1e9: "G", 1e6: "M", 1e3: "k", 1: "" }[unit];
    const ticks = linear(low, high, 6, unit).ticks.map(([v, t]) => [v, v === 0 ? "0" : t + letter]);
    return { min: low, max: high, ticks, at: (v) => Math.min(1, (v - low) / (high - low)) };
  };

  // ------------------------------------------------------------------------------------------------- drawing

  const marker = (kind, x, y, size, colour, parent) => {
    const path = (points, fill) => svg("path", { d: "M" + points.map(([dx, dy]) => `${x + dx * size},${y + dy * size}`).join("L") + "Z", fill: fill || colour, stroke: fill ? colour : "none", "stroke-width": 1.5 }, parent);
    const square = [[-.85, -.85], [.85, -.85], [.85, .85], [-.85, .85]], up = [[0, -1.15], [1.05, .75], [-1.05, .75]];
    const diamond = [[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]], down = up.map(([a, b]) => [a, -b]);
    const hollow = "var(--paper)";
    switch (kind % 8) {
      case 0: return svg("circle", { cx: x, cy: y, r: size * .9, fill: colour }, parent);
      case 1: return path(square);
      case 2: return path(up);
      case 3: return path(diamond);
      case 4: return path(down);
      case 5: return svg("circle", { cx: x, cy: y, r: size * .9, fill: hollow, stroke: colour, "stroke-width": 1.5 }, parent);
      case 6: return path(square, hollow);
      default: return path(diamond, hollow);
    }
  };
  const colour = (curve) => `var(--f${curve.family})`;
  const sample = (curve, parent) => {
    const key = svg("svg", { width: 34, height: 12, "aria-hidden": "true" }, parent);
    svg("line", { x1: 0, x2: 34, y1: 6, y2: 6, stroke: colour(curve), "stroke-width": 2, "stroke-dasharray": DASHES[curve.dash] }, key);
    marker(curve.marker, 17, 6, 3.8, colour(curve), key);
  };
  // A line of probes belongs to a curve, and comes and goes with it.
  const owner = (kind, curve) => (kind.lines ? data.curves[curve.of] : curve);
  const visible = (kind) => (kind.lines || data.curves).filter((curve, index) => !state.hidden.has(kind.lines ? curve.of : index));

  function Chart(figure) {
    const kind = data.kinds[Number(figure.dataset.kind)];
    const holder = svg("svg", { class: "chart", preserveAspectRatio: "xMinYMid meet", role: "img", tabindex: 0, "aria-label": kind.title + ". Arrow keys go from point to point and from line to line." }, null);
    const tip = word("div", "", null);
    tip.className = "tip";
    tip.hidden = true;
    tip.setAttribute("role", "status");
    // What the lines of probes are, where there is no room for their names: the legend above has the curves only.
    const keys = word("ul", "", null);
    keys.className = "legend";
    figure.append(holder, tip, keys);
    let places = [], cross = null, spot = null, width = 0;

    const draw = () => {
      width = Math.max(300, Math.floor(figure.clientWidth || 1000));
      const height = Math.round(Math.max(250, Math.min(460, width * .46)));
      holder.replaceChildren();
      keys.replaceChildren();
      holder.setAttribute("viewBox", `0 0 ${width} ${height}`);
      hide();
      places = [];
      const against = kind.against || state.against, log = state.log || kind.log === true;
      const shown = visible(kind).filter((curve) => curve[kind.id].some((v, i) => known(v) && known(curve[against][i])));
      const values = shown.flatMap((curve) => [...curve[kind.id], ...(curve.low || []), ...(curve.high || [])].filter((v, i) => known(v) && known(curve[against][i % curve[against].length])));
      const y = upright(values, kind, log);
      if (!y) {
        svg("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, holder).textContent = "nothing to draw";
        return;
      }
      const spans = shown.map((curve) => {
        let low = Infinity, high = -Infinity;
        for (const at of curve[against]) if (known(at)) { low = Math.min(low, at); high = Math.max(high, at); }
        return [low, high];
      });
      const labelled = width > 700 && shown.length <= 12;
      const names = labelled ? Math.min(width * .28, Math.max(...shown.map((curve) => curve.name.length)) * 7.3 + 26) : 14;
      const left = 14 + Math.max(...y.ticks.map((tick) => tick[1].length), 1) * 7.6, right = width - names, top = 16, bottom = height - 46;
      const x = kind.against ? counted(shown.flatMap((curve) => curve[against])) : across(spans, Math.max(2, Math.floor((right - left) / 95)));
      const px = (v) => left + x.at(v) * (right - left), py = (v) => { const up = y.at(v); return up === null ? null : bottom - up * (bottom - top); };
      const frame = svg("g", { "aria-hidden": "true" }, holder);
      for (const [value, text] of y.ticks) {
        const at = py(value);
        if (at < top - 1) continue;
        svg("line", { x1: left, x2: right, y1: at, y2: at, stroke: "var(--grid)" }, frame);
        svg("text", { x: left - 7, y: at + 4, "text-anchor": "end" }, frame).textContent = text;
      }
      for (const [value, text] of x.ticks) {
        const at = px(value);
        svg("line", { x1: at, x2: at, y1: top, y2: bottom, stroke: "var(--grid)" }, frame);
        svg("text", { x: at, y: bottom + 17, "text-anchor": "middle" }, frame).textContent = text;
      }
      svg("line", { x1: left, x2: right, y1: bottom, y2: bottom, stroke: "var(--axis)" }, frame);
      svg("text", { x: (left + right) / 2, y: bottom + 36, "text-anchor": "middle", class: "label" }, frame).textContent = x.title;
      const ends = [];
      for (const curve of shown) {
        const group = svg("g", { class: "curve", "data-name": owner(kind, curve)?.name ?? "", "aria-hidden": "true" }, holder);
        const points = [];
        curve[kind.id].forEach((value, index) => {
          const at = curve[against][index], up = known(value) && known(at) ? py(value) : null;
          if (up !== null) points.push({ index, batch: curve.batch[index], x: px(at), y: up, value, curve });
        });
        for (const p of points) {
          if (!curve.low || !known(curve.low[p.index])) continue;
          const low = py(curve.low[p.index]), high = py(curve.high[p.index]);
          if (low !== null && high !== null && low - high >= 1) svg("path", { d: `M${p.x},${low}V${high}M${p.x - 4},${low}h8M${p.x - 4},${high}h8`, fill: "none", stroke: colour(curve), "stroke-opacity": .6, "stroke-width": 1.3 }, group);
        }
        // Where a batch is missing the line is broken.
        let path = "";
        points.forEach((p, i) => { path += (i && (curve.thinned || p.batch - points[i - 1].batch <= 1) ? "L" : "M") + p.x.toFixed(1) + "," + p.y.toFixed(1); });
        svg("path", { d: path, fill: "none", stroke: colour(curve), "stroke-width": shown.length > 12 ? 1.4 : 2, "stroke-dasharray": DASHES[curve.dash], "stroke-linejoin": "round" }, group);
        const spacing = points.length > 1 ? (points[points.length - 1].x - points[0].x) / (points.length - 1) : 99;
        const every = spacing < 12 ? Math.ceil((64 * Math.max(1, shown.length / 10)) / Math.max(spacing, .05)) : 1;
        points.forEach((p, i) => {
          if (i % every === 0 || points.length === 1) marker(curve.marker, p.x, p.y, 3.6, colour(curve), group);
          if (!log && p.value > y.max) {
            svg("path", { d: `M${p.x - 5},${top}L${p.x},${top - 8}L${p.x + 5},${top}Z`, fill: colour(curve) }, group);
            svg("text", { x: p.x + 8, y: top - 2 }, group).textContent = kind.rate ? scaled(p.value) : significant(p.value);
          }
        });
        for (const mark of curve.marks) {
          const p = points.filter((q) => curve.rows[q.index] <= mark.rows).pop() || points[0];
          if (!p) continue;
          const sign = svg("g", { class: "mark", "data-kind": mark.kind }, group);
          svg("title", {}, sign).textContent = mark.text || mark.kind;
          if (mark.kind === "resume") svg("path", { d: `M${p.x - 5},${p.y - 7}L${p.x + 7},${p.y}L${p.x - 5},${p.y + 7}Z`, fill: colour(curve), stroke: "var(--paper)" }, sign);
          else {
            svg("circle", { cx: p.x, cy: p.y, r: 7, fill: "var(--paper)", stroke: colour(curve), "stroke-width": 1.8 }, sign);
            svg("path", { d: `M${p.x - 3},${p.y - 3}l6,6m0,-6l-6,6`, stroke: colour(curve), "stroke-width": 1.8 }, sign);
          }
        }
        if (points.length) ends.push(points[points.length - 1]);
        places.push(points);
      }
      if (kind.lines && !labelled) for (const curve of shown) {
        const item = document.createElement("li");
        sample(curve, item);
        word("span", curve.name, item);
        keys.append(item);
      }
      if (labelled) {
        ends.sort((a, b) => a.y - b.y);
        // Down so far that none lies on the one before it, and up again where that leaves the plot.
        let last = -99;
        const heights = ends.map((p) => (last = Math.max(p.y, last + 15)));
        last = bottom + 15;
        for (let i = heights.length - 1; i >= 0; i--) last = heights[i] = Math.min(heights[i], last - 15);
        ends.forEach((p, i) => {
          const at = heights[i];
          const room = Math.floor((names - 22) / 7.3), name = p.curve.name;
          const label = svg("text", { x: right + 16, y: at + 4, class: "label" }, holder);
          label.textContent = name.length > room ? name.slice(0, Math.ceil(room / 2) - 1) + "…" + name.slice(name.length - Math.floor(room / 2)) : name;
          svg("line", { x1: p.x + 5, y1: p.y, x2: right + 13, y2: at, stroke: colour(p.curve), "stroke-opacity": .6 }, holder);
        });
      }
      cross = svg("line", { y1: top, y2: bottom, stroke: "var(--axis)", "stroke-dasharray": "2 3", visibility: "hidden" }, holder);
      spot = svg("circle", { r: 6, fill: "none", stroke: "var(--ink)", "stroke-width": 2, visibility: "hidden" }, holder);
    };

    const hide = () => {
      tip.hidden = true;
      if (cross) { cross.setAttribute("visibility", "hidden"); spot.setAttribute("visibility", "hidden"); }
    };
    let current = null;
    const show = (p) => {
      current = p;
      cross.setAttribute("x1", p.x);
      cross.setAttribute("x2", p.x);
      spot.setAttribute("cx", p.x);
      spot.setAttribute("cy", p.y);
      cross.setAttribute("visibility", "visible");
      spot.setAttribute("visibility", "visible");
      tip.replaceChildren();
      word("b", p.curve.name, tip);
      tip.append(document.createElement("br"));
      const figure = (kind.rate ? scaled(p.value) : significant(p.value)) + " " + kind.unit;
      const { low, high, iterations, connections } = p.curve, at = p.index;
      const place = kind.against ? `${connections[at]} connections: ` : kind.lines ? "" : `batch ${p.batch}: `;
      const bar = low && known(low[at]) ? ` (${scaled(low[at])} to ${scaled(high[at])} in ${iterations[at]} iterations)` : "";
      tip.append(`${place}${figure}${bar}, ${rowsText(p.curve.rows[at])} rows in the table`);
      tip.hidden = false;
      const scale = holder.clientWidth / width, x = p.x * scale, up = holder.offsetTop + p.y * scale;
      tip.style.left = Math.max(0, x + 14 + tip.offsetWidth > holder.clientWidth ? x - tip.offsetWidth - 14 : x + 14) + "px";
      tip.style.top = Math.max(0, up - tip.offsetHeight - 10) + "px";
    };
    holder.addEventListener("pointermove", (event) => {
      const box = holder.getBoundingClientRect(), scale = width / box.width;
      const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
      let best = null, distance = Infinity;
      for (const points of places) for (const p of points) {
        const d = (p.x - x) * (p.x - x) * 4 + (p.y - y) * (p.y - y);
        if (d < distance) { best = p; distance = d; }
      }
      if (best) show(best);
    });
    holder.addEventListener("pointerleave", hide);
    holder.addEventListener("blur", hide);
    holder.addEventListener("keydown", (event) => {
      const keys = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0], Home: [0, -1e9], End: [0, 1e9] };
      if (event.key === "Escape") return hide();
      const move = keys[event.key];
      if (!move || !places.length) return;
      event.preventDefault();
      let line = places.findIndex((points) => points.includes(current)), at = line < 0 ? -1 : places[line].indexOf(current);
      if (line < 0) line = 0;
      else line = (line + move[0] + places.length) % places.length;
      at = Math.max(0, Math.min(places[line].length - 1, at + move[1]));
      if (places[line][at]) show(places[line][at]);
    });
    return { draw };
  }

  // ------------------------------------------------------------------------------------------------ controls

  const redraw = () => charts.forEach((chart) => chart.draw());
  const spotlight = (name) => document.querySelectorAll(".chart .curve").forEach((group) => {
    group.style.opacity = name === null || group.dataset.name === name ? "" : ".15";
  });
  const legend = document.getElementById("legend");
  data.curves.forEach((curve, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    sample(curve, button);
    word("span", curve.name, button);
    button.addEventListener("click", () => {
      if (!state.hidden.delete(index)) state.hidden.add(index);
      button.setAttribute("aria-pressed", String(!state.hidden.has(index)));
      redraw();
    });
    // Among many curves the one that is pointed at stands out.
    for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => spotlight(curve.name));
    for (const event of ["pointerleave", "blur"]) button.addEventListener(event, () => spotlight(null));
    legend.appendChild(document.createElement("li")).appendChild(button);
  });
  const all = document.getElementById("all");
  all.addEventListener("click", () => {
    const none = state.hidden.size === 0;
    state.hidden = new Set(none ? data.curves.keys() : []);
    legend.querySelectorAll("button").forEach((button) => button.setAttribute("aria-pressed", String(!none)));
    redraw();
  });
  const against = document.getElementById("against");
  for (const option of [...against.options]) {
    if (!data.curves.some((curve) => curve[option.value].some(known))) option.remove();
  }
  against.addEventListener("change", () => { state.against = against.value; redraw(); });
  const log = document.getElementById("log");
  log.addEventListener("change", () => { state.log = log.checked; redraw(); });
  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  // ------------------------------------------------------------------------------------------------- sorting

  document.querySelectorAll("table.sortable").forEach((table) => {
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
    heads.forEach((head, column) => {
      const button = head.querySelector("button");
      if (!button) return;
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const value = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent;
        const numeric = head.classList.contains("n");
        const rows = [...body.rows].sort((a, b) => {
          const [one, two] = [value(a), value(b)];
          // What is not known stands last, whatever the order.
          if (one === "" || two === "") return (one === "") - (two === "");
          const order = numeric ? Number(one) - Number(two) : one.localeCompare(two, "en", { numeric: true });
          return up ? order : -order;
        });
        body.append(...rows);
      });
    });
  });

  document.querySelectorAll("figure[data-kind]").forEach((figure) => charts.push(Chart(figure)));
  redraw();
  let seen = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== seen) { seen = innerWidth; redraw(); } });
})();
