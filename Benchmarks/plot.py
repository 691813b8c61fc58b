"""Draws the ratios of a run as one SVG: a bar a figure, a mark at its target."""

from xml.sax.saxutils import escape

LINE, LEFT, WIDTH, MOST = 20, 460, 360, 4.0


def svg(figures, machine):
    shown = [figure for figure in figures if figure.unit == "×" and not figure.at_most]
    height = LINE * (len(shown) + 3)
    scale = WIDTH / MOST
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 80}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="100%" height="100%" fill="white"/><text x="8" y="15">Holdfast against its peers: above 1 it is '
        f'ahead. {escape(machine)}</text>',
        f'<line x1="{LEFT + scale}" x2="{LEFT + scale}" y1="{LINE}" y2="{height - LINE}" stroke="#999"/>',
    ]
    for number, figure in enumerate(shown):
        y = LINE * (number + 2)
        length = min(figure.value, MOST) * scale
        colour = "#b33" if figure.met is False else "#37a"
        parts.append(f'<text x="{LEFT - 8}" y="{y}" text-anchor="end">{escape(figure.work)} / {escape(figure.peer)}</text>')
        parts.append(f'<rect x="{LEFT}" y="{y - 11}" width="{length:.1f}" height="13" fill="{colour}"/>')
        parts.append(f'<text x="{LEFT + length + 4:.1f}" y="{y}">{figure.value:.2f}</text>')
        if figure.target is not None:
            x = LEFT + figure.target * scale
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - 13}" y2="{y + 4}" stroke="black" stroke-width="2"/>')
    return "\n".join(parts + ["</svg>", ""])
