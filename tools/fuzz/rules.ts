// Fuzz targets for rules that users write: scopes, paths and expressions of patches, addresses, durations (threats B9, E10, E12).
import { isIP } from 'node:net'
import { Script } from 'node:vm'
import type { Scope } from '../../src/api/scope.gen.ts'
import { addressFault, parseCidr, parseIpAddress } from '../../src/domain/ip-address.ts'
import { parseJsonMap } from '../../src/domain/json/json.ts'
import { strictJsonError } from '../../src/domain/json/strict-json.ts'
import { authorize, type ParsedScope, parseScope } from '../../src/domain/scope/authorize.ts'
import { firstUncoveredEntry } from '../../src/domain/scope/covers.ts'
import { parseDuration } from '../../src/domain/time.ts'
import { parseRequest } from '../../src/gateway/request/parse.ts'
import { checkExpression } from '../../src/sync/patches/expression.ts'
import {
  canBeWithin,
  canonicalPath,
  parsePatchPath,
  patchPathText,
} from '../../src/sync/patches/path.ts'
import { type FuzzTarget, kindOf, mustHold, sizeClass } from './target.ts'

const CONTEXT = { projectNamespacePrefix: 'p-', roleRules: () => [] }
// biome-ignore format: a list
const REQUESTS = ['GET /api/v1/pods', 'GET /api/v1/namespaces/a/pods/x', 'POST /api/v1/namespaces/a/pods/x/exec', 'DELETE /apis/apps/v1/namespaces/a/deployments', 'GET /metrics', 'POST /api/v1/namespaces/a/serviceaccounts/x/token', 'GET /api/v1/namespaces/p-a/secrets'].flatMap((line) => {
  const [method = '', path = ''] = line.split(' ')
  const parsed = [{ kind: 'Management' } as const, { kind: 'Cluster', cluster: 'a' } as const].map((target) => parseRequest(method, target, path))
  return parsed.flatMap((one) => (one.ok ? [one.request.attributes] : []))
})

const grantedBy = (scope: ParsedScope): string =>
  REQUESTS.map((request) => (authorize(scope, request, CONTEXT).allowed ? '1' : '0')).join('')

const isWithin = (granted: string, wider: string): boolean =>
  Array.from(granted).every((bit, at) => bit === '0' || wider[at] === '1')

/** A scope grants no more for an unknown field, no less beside another entry, and no more than a scope that covers it. */
export const scopeTarget = (parse: (scope: Scope) => ParsedScope = parseScope): FuzzTarget => ({
  seeds: [
    '{"projects": [{"project": "a"}]}',
    '{"clusters": [{"cluster": "*"}]}',
    '{"rules": [{"verbs": ["get"], "resources": [{"group": "", "resources": ["pods"]}]}]}',
    '{"rules": [{"verbs": ["*"], "nonResourceURLs": ["/metrics"]}]}',
    '{"roles": [{"role": "agent"}]}',
    '{}',
    '{"rules": []}',
  ],
  // biome-ignore format: words
  words: ['{', '}', '[', ']', ',', ':', '"*"', '"projects":', '"clusters":', '"cluster":', '"rules":', '"verbs":', '"resources":', '"group":', '"namespaces":', '"roles":', '"pods"', '"pods/exec"', '"get"', '"a"', 'null', 'true', '0', '"unknown":', '"__proto__":', '""'],
  run: (text) => {
    const scope = strictJsonError(text) === null ? parseJsonMap(text) : null
    if (scope === null) return 'no scope'
    const granted = grantedBy(parse(scope))
    mustHold(
      'an unknown field grants something',
      isWithin(grantedBy(parse({ ...scope, unknown: ['*'] } as Scope)), granted),
    )
    const all = { clusters: [{ cluster: '*' }] } as Scope
    const parents = [all, scope, { projects: [{ project: 'a' }] } as Scope]
    for (const parent of parents)
      if (firstUncoveredEntry(scope, parent) === null)
        mustHold(
          'it grants more than the scope that covers it',
          isWithin(granted, grantedBy(parse(parent))),
        )
    return `${granted} ${sizeClass(Object.keys(scope).length)}`
  },
})

/** A path of a patch names the same fields once it is written again, and lies within itself. */
export const patchTarget = (): FuzzTarget => ({
  seeds: [
    'metadata.annotations["example.com/name"]',
    'subsets[*].addresses[0].ip',
    'a.0',
    'a["b\\"c"]',
    'a..b',
    '*',
  ],
  words: [
    '.',
    '[',
    ']',
    '"',
    '*',
    '0',
    '[0]',
    '[*]',
    '["a"]',
    'metadata',
    'spec',
    '\\',
    ' ',
    '-1',
    '999999999999',
    '__proto__',
    '\u00e9',
    "'",
  ],
  run: (text) => {
    const parsed = parsePatchPath(text)
    if (!parsed.ok) return kindOf(parsed.fault)
    const { path } = parsed
    mustHold('a path is not within itself', canBeWithin(path, path))
    const steps = path.flatMap((segment): readonly (string | number)[] =>
      segment.kind === 'name' ? [segment.name] : segment.kind === 'index' ? [segment.index] : [],
    )
    if (steps.length < path.length) return `wildcard ${sizeClass(path.length)}`
    const again = parsePatchPath(patchPathText(steps))
    mustHold(
      'it names other fields once written',
      again.ok && canonicalPath(again.path) === canonicalPath(path),
    )
    return `${path
      .map(({ kind }) => kind)
      .slice(0, 3)
      .join()} ${sizeClass(path.length)}`
  },
})

/** An expression that is accepted is one expression to another parser too, and can't leave the parentheses around it. */
export const expressionTarget = (check: typeof checkExpression = checkExpression): FuzzTarget => ({
  seeds: [
    'value + "x"',
    '(() => { return value })()',
    'context.virtualObject?.metadata.name ?? "a"',
    '`a${value}`',
    '/a+/.test(value)',
    '1) + (2',
    'value /* a',
    'let a = 1',
  ],
  // biome-ignore format: words
  words: ['(', ')', '[', ']', '{', '}', ';', ',', '=>', '`', '${', '/', '//', '/*', '*/', '"', '\n', '\u2028', '<!--', '-->', 'value', 'context', 'await ', 'yield ', 'async ', 'function', 'return ', 'new ', 'this', 'import(', 'eval', '...', '?.', '??', '=', '#a', '\\u0061', '1n', '0x', 'class {', 'super'],
  run: (source) => {
    const checked = check(source)
    if (!checked.ok) {
      const { at, because } = checked.fault
      mustHold('the fault is outside of the text', at >= 0 && at <= source.length)
      return kindOf(because).split(/[ :(]/).slice(0, 3).join(' ')
    }
    try {
      void new Script(`(${source}\n)`)
    } catch (error) {
      throw new Error('another parser refuses it', { cause: error })
    }
    return `accepted ${sizeClass(source.split('\n').length)}`
  },
})

/** Node accepts every address that is accepted here, and a range contains its own first address. */
export const addressTarget = (parse: typeof parseIpAddress = parseIpAddress): FuzzTarget => ({
  seeds: [
    '10.0.0.1',
    '::1',
    '::ffff:127.0.0.1',
    'fe80::1%eth0',
    '010.0.0.1',
    '0x7f.1',
    '10.0.0.0/8',
    '::/0',
    '1:2:3:4:5:6:7:8',
    '169.254.169.254',
  ],
  words: [
    '.',
    ':',
    '::',
    '/',
    '0',
    '1',
    '255',
    '256',
    '08',
    'ffff',
    'g',
    '%',
    ' ',
    '127.0.0.1',
    '::ffff:',
    '64:ff9b::',
    '/8',
    '/33',
    '-',
    '+',
  ],
  run: (text) => {
    const cidr = parseCidr(text)
    if (cidr !== null) mustHold('a range has an address', isIP(text.split('/')[0] ?? '') > 0)
    const address = parse(text)
    mustHold(
      'Node reads it otherwise',
      (address === null) === (isIP(text) === 0 || text.includes('%')),
    )
    if (address === null) return cidr === null ? 'refused' : `range ${cidr.bits}`
    return `address ${address.bits} ${addressFault(address, { allowed: [], denied: [] }) ?? 'allowed'}`
  },
})

/** A duration is a finite number, and with a minus its negative. */
export const durationTarget = (parse: typeof parseDuration = parseDuration): FuzzTarget => ({
  seeds: ['24h', '1h30m', '1.5s', '-5m', '0', '1', '', '9223372036s', '1e3s', '.5h'],
  words: [
    'h',
    'm',
    's',
    'ms',
    'us',
    '\u00b5s',
    '\u03bcs',
    'ns',
    '.',
    '-',
    '+',
    '0',
    '1',
    '9',
    '999999999',
    'd',
    ' ',
    'e',
  ],
  run: (text) => {
    const value = parse(text)
    if (value === null) return 'refused'
    mustHold('it is not a finite number', Number.isFinite(value))
    if (!/^[-+]/.test(text)) mustHold('it has no negative', parse(`-${text}`) === -value)
    return `${Math.sign(value)} ${sizeClass(text.split(/[\d.]+/).length - 1)} ${text.at(-1)}`
  },
})
