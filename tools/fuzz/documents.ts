// Documents that the program reads: JSON and YAML of clients, tokens, scopes (threats D1, E7, E8, X5).
import { isDeepStrictEqual } from 'node:util'
import { claimsIn, decodeToken } from '../../src/authn/token/compact-jws.ts'
import { strictJsonError } from '../../src/domain/json/strict-json.ts'
import { formatYaml, parseYaml } from '../../src/runtime/yaml.ts'
import { type FuzzTarget, kindOf, mustHold, sizeClass } from './target.ts'

/** Fields that every object would have once a parser has reached its prototype. */
function checkPrototypes(): void {
  mustHold('Object.prototype has a new field', Object.keys(Object.prototype).length === 0)
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

/** Names and values of a parsed text, at any depth. */
const namesIn = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? (Array.isArray(value) ? 0 : Object.keys(value).length) +
      Object.values(value).reduce<number>((sum, inner) => sum + namesIn(inner), 0)
    : 0

/** The texts of a parsed text, names included. */
const textsIn = (value: unknown): readonly string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? [...Object.keys(value), ...Object.values(value).flatMap(textsIn)]
      : []

const typeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value

/** JSON that is accepted loses nothing when it is parsed: no field, no digit. */
export const jsonTarget = (
  faultOf: (text: string) => string | null = strictJsonError,
): FuzzTarget => ({
  seeds: [
    '{"a": [1, -2.5e3, true, null, "\\u00e9"]}',
    '{"a": 1, "a": 2}',
    '[9007199254740993]',
    '"\\ud800"',
    '{"__proto__": {"a": 1}}',
  ],
  // biome-ignore format: words
  words: ['{', '}', '[', ']', ':', ',', '"', '\\', '\\u0061', '\\ud83d', '\\ude00', '"a"', '"a":', '"__proto__":', 'true', 'null', '0', '-', '1e9', '9007199254740993', '0.1', ' ', '\n', '\0', '\u2028'],
  run: (text) => {
    const fault = faultOf(text)
    if (fault !== null) return kindOf(fault)
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      return 'not JSON'
    }
    checkPrototypes()
    const withoutTexts = text.replaceAll(/"(?:[^"\\]|\\.)*"/gs, '')
    mustHold('a field is lost', namesIn(value) === withoutTexts.split(':').length - 1)
    const integers = withoutTexts.match(/(?<![\d.eE+-])-?\d+(?![\d.eE])/g) ?? []
    mustHold(
      'a digit is lost',
      integers.every((digits) => BigInt(Number(digits)) === BigInt(digits)),
    )
    mustHold(
      'a text has half of a pair',
      textsIn(value).every((one) => one.isWellFormed()),
    )
    return `${typeOf(value)} ${sizeClass(namesIn(value))}`
  },
})

/** YAML that is accepted is what JSON can say, and is read alike once it is written again. */
export const yamlTarget = (parse: (text: string) => unknown = parseYaml): FuzzTarget => ({
  seeds: [
    'a: 1\nb: [x, "y"]\n',
    '- 017\n- yes\n- 1e3\n',
    'a: &x {b: c}\nd: *x\n',
    '"\\u00e9": |\n  text\n',
    '<<: {a: 1}',
    '__proto__: {a: 1}',
    '%YAML 1.2\n---\na\n',
  ],
  // biome-ignore format: words
  words: [': ', '- ', '\n', '  ', '? ', '|', '>', '&a ', '*a', '!!omap ', '!!str ', '"', "'", '#', '{', '}', '[', ']', ',', '---\n', '...\n', '%YAML', '<<: ', '__proto__: ', 'yes', 'null', '~', '0x1f', '017', '1_000', '1e400', '.inf', '2001-01-01', '\t', '\\', '\u2028', '\ufeff'],
  run: (text) => {
    let value: unknown
    try {
      value = parse(text)
    } catch (error) {
      return kindOf(messageOf(error))
    }
    checkPrototypes()
    const json = JSON.stringify(value ?? null)
    mustHold('JSON says something else', isDeepStrictEqual(JSON.parse(json), value ?? null))
    mustHold(
      'it is another value once written',
      JSON.stringify(parse(formatYaml(value ?? null)) ?? null) === json,
    )
    return `${typeOf(value)} ${sizeClass(namesIn(value))}`
  },
})

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const KID = 'A'.repeat(43)
const TOKEN = `${encoded({ alg: 'ES256', kid: KID, typ: 'JWT' })}.${encoded({ sub: 'a', exp: 1 })}.${'B'.repeat(86)}`

/** A token whose header is accepted has three parts with one spelling each, and a header of three fields. */
export const jwsTarget = (decode: typeof decodeToken = decodeToken): FuzzTarget => ({
  seeds: [
    TOKEN,
    TOKEN.replace('.', '..'),
    `${encoded({ alg: 'none' })}.${encoded({})}.`,
    `${encoded({ alg: 'ES256', kid: KID, typ: 'JWT', crit: ['b64'] })}.e30.AA`,
  ],
  // biome-ignore format: words
  words: ['.', '=', '-', '_', '+', '/', 'e30', encoded({ alg: 'HS256' }), encoded({ alg: 'ES256', kid: KID, typ: 'JWT' }), encoded([]), 'AA', 'AB', ' ', '\n', '\0'],
  run: (token) => {
    const decoded = decode(token)
    if (typeof decoded === 'string') return decoded
    const parts = token.split('.')
    const isCanonical = parts.every(
      (part) => Buffer.from(part, 'base64url').toString('base64url') === part,
    )
    mustHold('a token has two spellings', parts.length === 3 && isCanonical)
    const header = JSON.parse(Buffer.from(parts[0] ?? '', 'base64url').toString())
    mustHold(
      'the header has another field',
      Object.keys(header).toSorted().join() === 'alg,kid,typ',
    )
    mustHold(
      'the kid has another form than the kids of the operator',
      decoded.kid === header.kid && decoded.kid.length === 43,
    )
    const claims = claimsIn(decoded)
    checkPrototypes()
    return `header, ${claims === null ? 'no claims' : `${sizeClass(Object.keys(claims).length)} claims`}`
  },
})
