// The command line of `management-operator audit`: a flag for each filter, and where the events come from.
import {
  type AuditFilter,
  DEFAULT_LIMIT,
  FILTER_NAMES,
  MOST_EVENTS,
  acceptedWords,
  isAccepted,
} from '../../domain/audit/filters.ts'
import { type AuditQuery, parseAuditQuery } from '../../domain/audit/query.ts'
import {
  type Flag,
  type Invocation,
  choiceValue,
  fileValue,
  flagsMarkdown,
  helpFlag,
  helpText,
  readFlags,
  usageError,
} from '../../runtime/flags.ts'

/** The settings of `audit`. */
export interface AuditSettings {
  readonly source:
    | { readonly kind: 'files'; readonly path: string }
    /** `kubeconfig`: path; null = KUBECONFIG, else the pod's service account. */
    | { readonly kind: 'gateway'; readonly kubeconfig: string | null }
  /** The filters as they were given, for the gateway. */
  readonly parameters: readonly (readonly [name: AuditFilter, text: string])[]
  /** The same filters, for files. */
  readonly query: AuditQuery
  readonly output: 'table' | 'json'
}

/** The fallback of filters: no argument of a process has this character, and an empty text means something to some. */
const NOT_GIVEN = '\0'

/** How the flag of a filter looks in the help. */
interface FilterHelp {
  readonly placeholder: string
  readonly help: string
  /** Absent = any event. */
  readonly shownDefault?: string
}

const filterFlag = (
  name: AuditFilter,
  { placeholder, help, shownDefault = 'any' }: FilterHelp,
): Flag<string | null> => ({
  value: {
    placeholder,
    accepts: acceptedWords(name),
    read: (text) => (text === NOT_GIVEN ? null : isAccepted(name, text) ? text : undefined),
  },
  fallback: NOT_GIVEN,
  shownDefault,
  help,
})

const nameFlag = (name: AuditFilter, help: string): Flag<string | null> =>
  filterFlag(name, { placeholder: '<name>', help })

const FLAGS = {
  since: filterFlag('since', {
    placeholder: '<time>',
    help: 'Events from this time on: RFC 3339, or a duration ago such as 24h.',
  }),
  until: filterFlag('until', {
    placeholder: '<time>',
    help: 'Events before this time: RFC 3339, or a duration ago such as 15m.',
  }),
  user: nameFlag('user', 'Name of the user.'),
  key: nameFlag('key', 'Name or keyID of the access key.'),
  verb: nameFlag('verb', 'Verb of the request, such as delete.'),
  target: nameFlag('target', 'Kind of target, such as Management or Cluster.'),
  cluster: nameFlag('cluster', 'Name of the connected cluster.'),
  project: nameFlag('project', 'Name of the project.'),
  namespace: nameFlag(
    'namespace',
    'Namespace of the object; an empty text means objects outside of namespaces.',
  ),
  group: nameFlag('group', 'API group of the object; an empty text means the core group.'),
  resource: nameFlag('resource', 'Resource in the plural, such as secrets or pods/log.'),
  name: nameFlag('name', 'Name of the object.'),
  code: filterFlag('code', {
    placeholder: '<code>',
    help: 'Status code, such as 403, or a class of them, such as 4xx.',
  }),
  stage: nameFlag('stage', 'Stage of the request, such as ResponseComplete.'),
  'audit-id': filterFlag('auditID', { placeholder: '<id>', help: 'Audit-ID of the answer.' }),
  source: nameFlag('source', 'Who recorded the request: a replica, or agent:<cluster>.'),
  body: filterFlag('body', {
    placeholder: '<word>',
    help: 'Whether -o json shows recorded bodies, true or false.',
    shownDefault: 'true',
  }),
  limit: filterFlag('limit', {
    placeholder: '<number>',
    help: `Most events to show, the newest first; at most ${MOST_EVENTS}.`,
    shownDefault: String(DEFAULT_LIMIT),
  }),
  continue: filterFlag('continue', {
    placeholder: '<token>',
    help: 'Token of the next page, which an answer to the same filters ended with.',
    shownDefault: 'the newest events',
  }),
  output: {
    value: choiceValue(['table', 'json']),
    fallback: 'table',
    help: 'Form of the output, also -o: table, or json for an EventList of audit.k8s.io/v1.',
  },
  path: {
    value: fileValue,
    fallback: '',
    shownDefault: 'none, the gateway is asked',
    help: 'Path to a file of the audit log, or to the directory with it and its backups; no gateway is asked.',
  },
  kubeconfig: {
    value: fileValue,
    fallback: '',
    shownDefault: 'KUBECONFIG, else in-cluster',
    help: 'Path to the kubeconfig whose server is the management API of the gateway.',
  },
  help: helpFlag,
} satisfies Readonly<Record<string, Flag<unknown>>>

const HELP = helpText({
  usage: 'audit',
  summary: `Show recorded requests: who did what, with which key, and what was answered.
The events come from the gateway, which needs a data store, or with --path from the files of the audit log
alone. Filters are exact, and an event must meet all of them. Times are UTC.`,
  flags: FLAGS,
  exitCodes: {
    0: 'Events were found.',
    1: 'No event was found.',
    3: 'A file, a line of one or an answer of the gateway could not be read; what could be read is printed.',
  },
})

/** The flags of `audit` as a Markdown table, for the docs. */
export const auditFlagsTable = (): string => flagsMarkdown(FLAGS)

/** Parses a command line of `audit`; reports every fault (contract 8.1). */
export function readAuditSettings(
  argv: readonly string[],
  nowMs: number,
): Invocation<AuditSettings> {
  const { values, faults } = readFlags(FLAGS, withLongOutput(argv))
  if (values.help) return { kind: 'print', text: HELP }
  const parameters = FILTER_NAMES.flatMap((name) => {
    const text = values[flagOf(name)] ?? null
    return text === null ? [] : [[name, text] as const]
  })
  const { path = null, kubeconfig = null, output = 'table' } = values
  const all = [...faults, ...repeatedFilters(argv), ...faultsBetween(values)]
  const parsed = parseAuditQuery(parameters, nowMs)
  if (parsed.kind === 'malformed') all.push(parsed.fault)
  if (all.length > 0 || parsed.kind === 'malformed') return usageError('audit', all)
  const source =
    path === null ? ({ kind: 'gateway', kubeconfig } as const) : ({ kind: 'files', path } as const)
  return { kind: 'run', settings: { source, parameters, query: parsed.query, output } }
}

/** `-o` as the long flag that it is short for. */
const withLongOutput = (argv: readonly string[]): readonly string[] =>
  argv.map((word, at) => {
    if (isValue(argv, at) || !word.startsWith('-o')) return word
    return word === '-o' ? '--output' : word.replace(/^-o=?/, '--output=')
  })

/** Whether the word at this place is the value of the flag before it. */
const isValue = (argv: readonly string[], at: number): boolean =>
  /^(?:--(?!help$)[^=]+|-o)$/.test(argv[at - 1] ?? '')

const flagOf = (name: AuditFilter) => (name === 'auditID' ? 'audit-id' : name)

/** Of a flag that is given twice only the last would count: the answer would not be that to the question. */
function repeatedFilters(argv: readonly string[]): readonly string[] {
  const names = argv.map((word, at) => (isValue(argv, at) ? null : /^--([^=]+)/.exec(word)?.[1]))
  return FILTER_NAMES.map(flagOf).flatMap((flag) =>
    names.filter((name) => name === flag).length > 1 ? [`--${flag} is given twice`] : [],
  )
}

function faultsBetween(
  values: Readonly<Partial<Record<'path' | 'kubeconfig' | 'continue', string | null>>>,
): readonly string[] {
  const isGiven = (name: keyof typeof values): boolean => typeof values[name] === 'string'
  if (!isGiven('path')) return []
  return [
    ...(isGiven('kubeconfig') ? ['--path and --kubeconfig name two sources: give one'] : []),
    ...(isGiven('continue') ? ['--continue is for the gateway: with --path, use --until'] : []),
  ]
}
