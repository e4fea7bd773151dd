// What a person sees of a page in Chromium: whether it fits, can be tapped and can be read.
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'

/** A colour by red, green, blue and alpha, 0 to 255 each. */
type Colour = readonly [number, number, number, number]

/** What measure-page.js finds; lengths are CSS pixels. */
interface Measures {
  /** How much wider the page is than the window; 0 or less = it fits. */
  readonly overflow: number
  readonly targets: readonly {
    readonly label: string
    readonly width: number
    readonly height: number
  }[]
  readonly texts: readonly {
    readonly label: string
    readonly colour: Colour
    readonly background: Colour
  }[]
}

/** Runs in the page, where nothing of this module is. */
const MEASURE = readFileSync(new URL('measure-page.js', import.meta.url), 'utf8')

/** Fingers need as much, in CSS pixels (WCAG 2.5.5). */
const SMALLEST_TARGET = 44
/** Between text and what is behind it (WCAG 1.4.3, AA). */
const LEAST_CONTRAST = 4.5

/** What is wrong with the looks of the page; empty = nothing. */
export async function faultsOfLooks(page: Page): Promise<readonly string[]> {
  const { overflow, targets, texts } = await page.evaluate<Measures>(MEASURE)
  return [
    ...(overflow > 0 ? [`it is ${overflow} pixels too wide`] : []),
    ...targets
      .filter(({ width, height }) => Math.min(width, height) < SMALLEST_TARGET)
      .map(({ label, width, height }) => `${label} is ${width} × ${height}`),
    ...texts
      .map((one) => ({ ...one, contrast: contrast(one.colour, one.background) }))
      .filter((one) => one.contrast < LEAST_CONTRAST)
      .map((one) => `${one.label} has contrast ${one.contrast.toFixed(2)}`),
  ]
}

/** The contrast of two colours, 1 to 21 (WCAG 2.2, "contrast ratio"). */
function contrast(one: Colour, other: Colour): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05)
}

function luminance([red, green, blue]: Colour): number {
  const linear = (part: number): number => {
    const share = part / 255
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}
