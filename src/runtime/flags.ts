// Command-line flags: one table is the source of the parser, of --help and of the page in the docs (contract 8.1).
import manifest from '../../package.json' with { type: 'json' }
import { hideCredentials } from '../domain/redaction/credentials.ts'
import { parseDuration } from '../domain/time.ts'
import { type BindAddress, parseBindAddress } from './address.ts'

/** A type of flag values: its parser, and its texts in --help. */
export interface FlagValue<T> {
  /** Placeholder of the value in --help, such as `<duration>`; empty for a switch. */
  readonly placeholder: string
  /** The accepted values in words, such as `a duration such as 24h`; ends the sentence about a fault. */
  readonly accepts: string
  /** Whether the flag may be given several times; `read` gets all texts, joined by commas. */
  readonly isList?: true
  /** Parses the text; undefined = it is malformed. */
  readonly read: (text: string) => T | undefined
}

/** One flag. `fallback` is the text that is parsed if the flag is not given. */
export interface Flag<T> {
  readonly value: FlagValue<T>
  readonly fallback: string
  /** The default in words, if `fallback` does not show it. */
  readonly shownDefault?: string
  /** One sentence, with the unit and the range of the value. */
  readonly help: string
  /** Whether --help and the docs leave it out: for tests, and for clouds of their own. Absent = no. */
  readonly isHidden?: true
}

/** Flags by name, without the dashes. */
type Flags = Readonly<Record<string, Flag<unknown>>>

/** The values of a table of flags. */
export type ValuesOf<F extends Flags> = {
  readonly [Name in keyof F]: F[Name] extends Flag<infer T> ? T : never
}

/** The parsed values, and a sentence for each fault. A malformed value is missing. */
interface ReadFlags<F extends Flags> {
  readonly values: Partial<ValuesOf<F>>
  readonly faults: readonly string[]
}

/**
 * The outcome of parsing a command line: `run` with settings, `print` a text on standard output, or `refuse` with one line on
 * standard error and exit code 2.
 */
export type Invocation<Settings> =
  | { readonly kind: 'run'; readonly settings: Settings }
  | { readonly kind: 'print'; readonly text: string }
  | { readonly kind: 'refuse'; readonly text: string }

/** Refuses a command line: all its faults in one line. */
export const usageError = (
  command: string,
  faults: readonly string[],
): { readonly kind: 'refuse'; readonly text: string } => ({
  kind: 'refuse',
  text: `${PROGRAM_NAME} ${command}: ${faults.join('; ')}\n`,
})

/**
 * Prints help or version to standard output (exit code 0), or the faults of the command line to standard error (exit
 * code 2; contract 8.1).
 *
 * @returns the exit code
 */
export function printText({ kind, text }: Exclude<Invocation<unknown>, { kind: 'run' }>): number {
  const stream = kind === 'print' ? process.stdout : process.stderr
  stream.write(text)
  return kind === 'print' ? 0 : 2
}

/** A flag that is on when it is given; `--name=false` turns it off. */
export const switchValue: FlagValue<boolean> = {
  placeholder: '',
  accepts: 'true or false',
  read: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
}

/** `--help`, also `-h`: a flag of every command. */
export const helpFlag: Flag<boolean> = {
  value: switchValue,
  fallback: 'false',
  help: 'Print this text and exit.',
}

/**
 * Parses the command line of a command that takes arguments besides its flags.
 *
 * @returns the arguments too, in their order; none begins with a dash
 */
export function readFlagsAndArguments<F extends Flags>(
  flags: F,
  argv: readonly string[],
): ReadFlags<F> & { readonly args: readonly string[] } {
  const args: string[] = []
  const read = readLine(flags, argv, (word) => !word.startsWith('-') && args.push(word) > 0)
  return { ...read, args }
}

/**
 * Parses a command line: `--name value` or `--name=value`, for a switch `--name` or `--name=false`. If a flag is
 * given twice, the last value counts, as in Go; of a list, all count.
 */
export const readFlags = <F extends Flags>(flags: F, argv: readonly string[]): ReadFlags<F> =>
  readLine(flags, argv, () => false)

/** A word of a command line for a message, which may end in the log of a pipeline: without credentials. */
const quoted = (word: string): string => JSON.stringify(hideCredentials(word))

/** Parses a command line. `isArgument` decides on each word that no flag matches. */
function readLine<F extends Flags>(
  flags: F,
  argv: readonly string[],
  isArgument: (word: string) => boolean,
): ReadFlags<F> {
  const given: Record<string, string> = {}
  const faults: string[] = []
  const rest = [...argv]
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '-h') word = '--help'
    const [, name = '', inline] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? []
    const flag = Object.hasOwn(flags, name) ? flags[name] : undefined
    const text = inline ?? (flag?.value === switchValue ? 'true' : flag && rest.shift())
    if (!flag && isArgument(word)) continue
    if (!flag) faults.push(`${quoted(word)} is not a flag, accepted are ${namesOf(flags)}`)
    else if (text === undefined) faults.push(`--${name} lacks its value, ${flag.value.accepts}`)
    else given[name] = flag.value.isList && given[name] ? `${given[name]},${text}` : text
  }
  const parsed = Object.entries(flags).map(([name, { value, fallback }]) => {
    const text = given[name] ?? fallback
    const read = value.read(text)
    if (read === undefined)
      faults.push(`--${name} is ${quoted(text)}, accepted is ${value.accepts}`)
    return [name, read] as const
  })
  const values = Object.fromEntries(parsed.filter(([, read]) => read !== undefined))
  return { values: values as Partial<ValuesOf<F>>, faults }
}

const namesOf = (flags: Flags): string =>
  shownFlags(flags)
    .map(([name]) => `--${name}`)
    .join(', ')

/** The parts of a command's help. */
interface CommandHelp {
  /** Name and arguments of the command, such as `revoke <name or uid>`. */
  readonly usage: string
  /** Its purpose; the first line also appears in the list of commands. */
  readonly summary: string
  readonly flags: Flags
  /** The meaning of each exit code, except 2, which is the same for all commands. */
  readonly exitCodes: Readonly<Record<number, string>>
}

const REFUSED = 'The command line is wrong; the line on standard error says what is accepted.'

/** The text of --help. */
export function helpText({ usage, summary, flags, exitCodes }: CommandHelp): string {
  const rows = shownFlags(flags).map(([name, flag]) => {
    const shown = defaultOf(flag)
    return [
      `  ${flag === helpFlag ? '-h, ' : ''}--${name} ${flag.value.placeholder}`.trimEnd(),
      `${flag.help}${shown === '' ? '' : ` (default ${shown})`}`,
    ] as const
  })
  const width = Math.max(...rows.map(([left]) => left.length)) + 2
  const codes = Object.entries({ ...exitCodes, 2: REFUSED })
  return [
    summary,
    '',
    `Usage: ${PROGRAM_NAME} ${usage} [flags]`,
    '',
    'Flags:',
    ...rows.map(([left, right]) => left.padEnd(width) + right),
    '',
    'Exit codes:',
    ...codes.map(([code, meaning]) => `  ${code}  ${meaning}`),
    '',
  ].join('\n')
}

/** The table of flags in Markdown, for the docs. */
export function flagsMarkdown(flags: Flags): string {
  const rows = shownFlags(flags).map(([name, flag]) => {
    const value = flag.value.placeholder && ` ${flag.value.placeholder}`
    const shown = defaultOf(flag)
    const short = flag === helpFlag ? ', `-h`' : ''
    return `| \`--${name}${value}\`${short} | ${flag.shownDefault ?? (shown && `\`${shown}\``)} | ${flag.help} |`
  })
  return ['| flag | default | meaning |', '|---|---|---|', ...rows, ''].join('\n')
}

const shownFlags = (flags: Flags): readonly (readonly [string, Flag<unknown>])[] =>
  Object.entries(flags).filter(([, { isHidden }]) => isHidden !== true)

/** The default as shown; empty for a switch that is off by default, such as --help. */
const defaultOf = ({ value, fallback, shownDefault }: Flag<unknown>): string =>
  shownDefault ?? (value === switchValue && fallback === 'false' ? '' : fallback)

// Types of flag values that several commands use.

/** One of the given words. */
export const choiceValue = <const Word extends string>(
  words: readonly Word[],
): FlagValue<Word> => ({
  placeholder: '<word>',
  accepts: `one of ${words.join(', ')}`,
  read: (text) => words.find((word) => word === text),
})

/** A path; null = an empty text, no file. */
export const fileValue: FlagValue<string | null> = {
  placeholder: '<file>',
  accepts: 'a path',
  read: (text) => text || null,
}

/** A whole number from 1 to `most`, which is below 10 million. */
export const countValue = (most: number): FlagValue<number> => ({
  placeholder: '<number>',
  accepts: `a whole number from 1 to ${most}`,
  read: (text) => (/^[1-9]\d{0,6}$/.test(text) && Number(text) <= most ? Number(text) : undefined),
})

/** A duration of at least `leastMs` milliseconds, in Go's syntax; `least` is its text. */
export const durationValue = (leastMs: number, least: string): FlagValue<number> => ({
  placeholder: '<duration>',
  accepts: `a duration of at least ${least}, such as 15s, 1h30m or 24h`,
  read: (text) => {
    const ms = parseDuration(text)
    return ms !== null && ms >= leastMs ? ms : undefined
  },
})

/** Address that a server listens on; null = it is off. */
export const optionalAddressValue: FlagValue<BindAddress | null> = {
  placeholder: '<address>',
  accepts: 'an address such as :8080 or 127.0.0.1:8080, or 0 for none',
  read: (text) => {
    const address = parseBindAddress(text)
    return address === 'off' ? null : (address ?? undefined)
  },
}

/** Address that a server listens on, which can't be switched off. */
export const addressValue: FlagValue<BindAddress> = {
  placeholder: '<address>',
  accepts: 'an address such as :8443 or 127.0.0.1:8443',
  read: (text) => {
    const address = parseBindAddress(text)
    return address === 'off' || address === null ? undefined : address
  },
}

/** Name of this program, as in --help. */
const PROGRAM_NAME: string = manifest.name

/** Version of this program, for --version and the user agent. */
export const PROGRAM_VERSION: string = manifest.version
