// Bars beside each other, as SVG: one group for each comparison, in its own scale, so that only ratios show.
import { type Spread, shortNumber } from '../measure/rounds.ts'

/** A group of bars. */
export interface BarGroup {
  /** Title with the unit, such as `keys a second`. */
  readonly title: string
  readonly bars: readonly { readonly name: string; readonly spread: Spread }[]
}

const WIDTH = 720
const LABEL_WIDTH = 190
const VALUE_WIDTH = 90
const BAR = 18
const GAP = 6
const TITLE = 28
/** Readable on white and on black. */
const COLOURS: Readonly<Record<string, string>> = { product: '#2f7ed8', gateway: '#2f7ed8' }
const OTHER_COLOUR = '#9aa5b1'

/** A picture of these groups, one below the other; a line on each bar shows the range over all rounds. */
export function barChart(title: string, groups: readonly BarGroup[]): string {
  const parts: string[] = []
  let y = TITLE + 8
  for (const group of groups) {
    parts.push(text(8, y + 14, group.title, 'bold'))
    y += TITLE
    const longest = Math.max(...group.bars.map(({ spread }) => spread.max))
    for (const { name, spread } of group.bars) {
      parts.push(...barOf(name, spread, longest, y))
      y += BAR + GAP
    }
    y += GAP
  }
  const box = `viewBox="0 0 ${WIDTH} ${y}" width="${WIDTH}" height="${y}"`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${box} role="img" font-family="sans-serif" font-size="12" fill="#57606a">`,
    `<title>${escaped(title)}</title>`,
    text(8, 20, title, 'bold'),
    ...parts,
    '</svg>',
    '',
  ].join('\n')
}

function barOf(name: string, { median, min, max }: Spread, longest: number, y: number): string[] {
  const scale = (WIDTH - LABEL_WIDTH - VALUE_WIDTH) / (longest || 1)
  const [x, middle] = [LABEL_WIDTH, y + BAR / 2]
  const [from, to] = [x + min * scale, x + max * scale].map((at) => at.toFixed(1))
  const colour = COLOURS[name] ?? OTHER_COLOUR
  return [
    text(16, y + 13, name),
    `<rect x="${x}" y="${y}" width="${(median * scale).toFixed(1)}" height="${BAR}" fill="${colour}"/>`,
    `<path d="M${from} ${middle}H${to}" stroke="#24292f" stroke-width="1.5"/>`,
    text(WIDTH - VALUE_WIDTH + 12, y + 13, shortNumber(median)),
  ]
}

const text = (x: number, y: number, content: string, weight?: 'bold'): string =>
  `<text x="${x}" y="${y}"${weight ? ` font-weight="${weight}"` : ''}>${escaped(content)}</text>`

const escaped = (content: string): string =>
  content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
