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
