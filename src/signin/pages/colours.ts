<<<<<<< HEAD
// Colours of the platform on the pages: whatever an administrator chose, texts can be read.

/** The colours of a platform, as CSS takes them. */
interface PageColours {
  /** Of buttons. */
  readonly primary: string
  /** Of the text on these. */
  readonly onPrimary: string
  /** Of links and of the mark of the focus; pages mix it with white in the dark. */
  readonly accent: string
}

const COLOUR = /^#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/i
const DEFAULT_PRIMARY = '#1f5fbf'
const DEFAULT_ACCENT = '#0b7a5b'

/** The colours; absent, or anything but a colour = the default. */
export function pageColours(
  primaryColor: string | undefined,
  accentColor: string | undefined,
): PageColours {
  const primary = colour(primaryColor, DEFAULT_PRIMARY)
  return { primary, onPrimary: readableOn(primary), accent: colour(accentColor, DEFAULT_ACCENT) }
}

const colour = (value: string | undefined, fallback: string): string =>
  value !== undefined && COLOUR.test(value) ? value : fallback

/** Luminance where black and white have the same contrast, of 4.58 to 1. */
const MIDDLE = 0.179

const readableOn = (background: string): string =>
  luminance(background) > MIDDLE ? '#000' : '#fff'

/** Of an opaque colour, 0 to 1 (WCAG 2.2, "relative luminance"). */
function luminance(text: string): number {
  const digits = text.length < 6 ? text.replaceAll(/[0-9a-f]/gi, '$&$&') : text
  const [red, green, blue] = [1, 3, 5].map((at) =>
    linear(Number.parseInt(digits.slice(at, at + 2), 16) / 255),
  ) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

const linear = (part: number): number =>
  part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
=======
// Colours of the pages: those of the platform where it has some, and what people can read on them.
import type { UiSettings } from '../../api/config.gen.ts'

/** Colours of a page, each as CSS has it. */
interface PageColours {
  /** Of buttons. */
  readonly primary: string
  /** Of the text on buttons. */
  readonly onPrimary: string
  /** Of links, and of the mark of the focus. */
  readonly accent: string
  /** The same on a dark page. */
  readonly accentInDark: string
}

const COLOUR = /^#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/i
const DEFAULTS = { primary: '#1f5fbf', accent: '#0b7a5b', accentInDark: '#4cc9a0' }
const [LIGHT, DARK] = ['#fff', '#1c2430']

/** The colours of the pages; a value that is none counts as absent. */
export function pageColours({ primaryColor = '', accentColor = '' }: UiSettings): PageColours {
  const primary = COLOUR.test(primaryColor) ? primaryColor : DEFAULTS.primary
  const given = COLOUR.test(accentColor) ? accentColor : null
  return {
    primary,
    onPrimary: contrastOf(primary, LIGHT) >= contrastOf(primary, DARK) ? LIGHT : DARK,
    accent: given ?? DEFAULTS.accent,
    accentInDark: given ?? DEFAULTS.accentInDark,
  }
}

/** The contrast of two colours, 1 to 21 (WCAG 2.2); text wants 4.5, the edge of a field 3. */
function contrastOf(colour: string, other: string): number {
  const [darker = 0, lighter = 0] = [colour, other].map(luminanceOf).toSorted((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

function luminanceOf(colour: string): number {
  const digits = colour.slice(1)
  const width = digits.length < 6 ? 1 : 2
  const [red = 0, green = 0, blue = 0] = [0, 1, 2].map((at) => {
    const part = digits.slice(at * width, (at + 1) * width).repeat(3 - width)
    const share = Number.parseInt(part, 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
>>>>>>> breaker
