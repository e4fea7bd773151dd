// `management-operator kubeconfig`: a kubeconfig with the gateway's address and an access key.
import { writeFileSync } from 'node:fs'
import {
  type Flag,
  type Invocation,
  type FlagValue,
  fileValue,
  flagsMarkdown,
  helpFlag,
  helpText,
  printText,
  readFlags,
  usageError,
} from '../../runtime/flags.ts'
import { formatYaml } from '../../runtime/yaml.ts'
import { isCertificate } from '../shared/https.ts'
import { processInputs } from '../shared/process.ts'
import type { ProcessInputs } from '../shared/flags.ts'

/** An address such as https://platform.example.com/kubernetes/management; null = not given. */
const serverValue: FlagValue<string | null> = {
  placeholder: '<url>',
  accepts: 'an https URL such as https://platform.example.com/kubernetes/management',
  read: (text) => (text === '' ? null : serverOf(text)),
}

const nameValue: FlagValue<string> = {
  placeholder: '<name>',
  accepts: 'a name without spaces',
  read: (text) => (/^[!-~]+$/.test(text) ? text : undefined),
}

const FLAGS = {
  server: {
    value: serverValue,
    fallback: '',
    shownDefault: 'none, required',
    help: 'URL of an API at the gateway, such as https://platform.example.com/kubernetes/management.',
  },
  name: {
    value: nameValue,
    fallback: 'platform',
    help: 'Name of the cluster, the user and the context in the kubeconfig.',
  },
  'ca-file': {
    value: fileValue,
    fallback: '',
    shownDefault: 'none, the client uses its own CAs',
    help: "Path to the PEM file with the CA of the gateway's certificate; it is copied into the kubeconfig.",
  },
  'output-file': {
    value: fileValue,
    fallback: '',
    shownDefault: 'standard output',
    help: 'Path of the file to create, which only its owner can read; an existing file is not overwritten.',
  },
  help: helpFlag,
} satisfies Readonly<Record<string, Flag<unknown>>>

const HELP = helpText({
  usage: 'kubeconfig',
  summary: `Write a kubeconfig with the gateway's address and an access key.
The key is read from standard input, so that it appears in no process list or shell history. The command
connects to no server.`,
  flags: FLAGS,
  exitCodes: { 0: 'The kubeconfig is written.', 1: 'The file exists, or cannot be written.' },
})

/** The flags of `kubeconfig` as a Markdown table, for the docs. */
export const kubeconfigFlagsTable = (): string => flagsMarkdown(FLAGS)

/** The parts of a kubeconfig for the gateway. */
interface KubeconfigSettings {
  readonly server: string
  readonly name: string
  /** PEM; null = the client trusts the gateway's certificate already. */
  readonly ca: string | null
  /** Path of the file; null = standard output. */
  readonly output: string | null
}

/** Parses a command line of `kubeconfig`; reports every fault (contract 8.1). */
function readKubeconfigSettings(
  argv: readonly string[],
  { file }: Pick<ProcessInputs, 'file'>,
): Invocation<KubeconfigSettings> {
  const { values, faults } = readFlags(FLAGS, argv)
  if (values.help) return { kind: 'print', text: HELP }
  const { server = null, name = FLAGS.name.fallback, 'output-file': output = null } = values
  const caFile = values['ca-file'] ?? null
  const ca = caFile === null ? null : file(caFile)
  const all = [
    ...faults,
    ...(values.server === null ? [`--server is required, ${serverValue.accepts}`] : []),
    ...(caFile !== null && !isCertificate(ca)
      ? [`--ca-file: ${caFile} has no certificate in PEM`]
      : []),
  ]
  if (all.length > 0 || server === null) return usageError('kubeconfig', all)
  return { kind: 'run', settings: { server, name, ca, output } }
}

/**
 * `management-operator kubeconfig`.
 *
 * @returns the exit code
 */
export async function run(argv: readonly string[]): Promise<number> {
  const invocation = readKubeconfigSettings(argv, processInputs)
  if (invocation.kind !== 'run') return printText(invocation)
  const given = process.stdin.isTTY ? '' : await readStart(process.stdin)
  const fault = keyFault(given)
  if (fault !== null) return printText(usageError('kubeconfig', [fault]))
  const text = kubeconfigText(invocation.settings, given.trim())
  const { output } = invocation.settings
  if (output === null) return printText({ kind: 'print', text })
  try {
    writeFileSync(output, text, { mode: 0o600, flag: 'wx' })
    return 0
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const because = code === 'EEXIST' ? 'exists, remove it first' : `cannot be written (${code})`
    process.stderr.write(`management-operator kubeconfig: ${output} ${because}\n`)
    return 1
  }
}

/** The kubeconfig as YAML, with one cluster, one user and one context, all of the same name. */
export const kubeconfigText = (
  { server, name, ca }: Omit<KubeconfigSettings, 'output'>,
  key: string,
): string =>
  formatYaml({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, ...authorityData(ca) } }],
    users: [{ name, user: { token: key } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  })

const authorityData = (ca: string | null): Readonly<Record<string, string>> =>
  ca === null ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') }

/** The fault of the text on standard input, without the text itself; null = it is a key. */
export function keyFault(given: string): string | null {
  const text = given.trim()
  if (text === '') return `standard input has no access key, ${PASS_IT}`
  if (/^sha256:/i.test(text))
    return `standard input has the digest of a key, ${PASS_IT}; keygen prints the key beside its digest`
  if (KEY.test(text)) return null
  return `standard input is not an access key (32 to 256 characters of A-Z, a-z, 0-9, _ and -), ${PASS_IT}`
}

/** A key, as the schema of spec.key accepts it (contract 1.4). */
const KEY = /^[A-Za-z0-9_-]{32,256}$/

const PASS_IT =
  'pass the key on standard input, as in: management-operator kubeconfig --server=<url> < key-file'

/** Longer than any key; the rest is not read. */
const MOST_BYTES = 4096

async function readStart(input: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  for await (const chunk of input) {
    text += String(chunk)
    if (text.length > MOST_BYTES) break
  }
  return text
}

/** The URL without a slash at its end; undefined = not https, or with a user, a query or a fragment. */
function serverOf(text: string): string | undefined {
  const url = URL.parse(text)
  const isPlain = url && url.protocol === 'https:' && !url.username && !url.search && !url.hash
  return isPlain
    ? `${url.origin}${url.pathname === '/' ? '' : withoutLastSlash(url.pathname)}`
    : undefined
}

const withoutLastSlash = (path: string): string => (path.endsWith('/') ? path.slice(0, -1) : path)
