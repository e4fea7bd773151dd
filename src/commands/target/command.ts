import {
  CONNECTED_KINDS,
  type ConnectedKind,
  type TargetData,
  definitionFrom,
} from '../../gateway/targets/definition.ts'
import {
  type Flag,
  type Invocation,
  type FlagValue,
  type ValuesOf,
  choiceValue,
  fileValue,
  flagsMarkdown,
  helpFlag,
  helpText,
  printText,
  readFlags,
  usageError,
  switchValue,
} from '../../runtime/flags.ts'
import { formatYaml } from '../../runtime/yaml.ts'
import { processInputs } from '../shared/process.ts'
import { type ProcessInputs, namespaceValue } from '../shared/flags.ts'
import { secretManifest, targetManifests } from './manifests.ts'

/**
 * `management-operator target` (contract 9.5). Prints, and connects to nothing.
 *
 * @returns the exit code: 2 when the command line or the kubeconfig is refused
 */
export const run = async (argv: readonly string[]): Promise<number> =>
  printText(readTargetCommand(argv, processInputs))

/** A text that is checked as the field of a Secret; null = not given. */
const fieldValue: FlagValue<string | null> = {
  placeholder: '<name>',
  accepts: 'a name',
  read: (text) => text || null,
}

const FLAGS = {
  name: {
    value: fieldValue,
    fallback: '',
    shownDefault: 'none, required',
    help: 'Name of the target in the paths of the gateway.',
  },
  kind: {
    value: choiceValue(CONNECTED_KINDS),
    fallback: 'cluster',
    help: `Kind of the target: ${CONNECTED_KINDS.join(', ')}.`,
  },
  project: {
    value: fieldValue,
    fallback: '',
    shownDefault: 'none',
    help: 'Project of a virtual cluster or a space.',
  },
  kubeconfig: {
    value: fileValue,
    fallback: '',
    shownDefault: 'none',
    help: 'Path to the kubeconfig with which the gateway reaches a cluster or a virtual cluster, with the token or client certificate inline.',
  },
  cluster: {
    value: fieldValue,
    fallback: '',
    shownDefault: 'none',
    help: 'Name of the cluster of a space; that cluster is a target too.',
  },
  namespace: {
    value: fieldValue,
    fallback: '',
    shownDefault: 'none',
    help: 'Namespace of a space in its cluster.',
  },
  'target-namespace': {
    value: namespaceValue,
    fallback: 'platform-system-targets',
    help: "Namespace of the Secret; the same as the gateway's --target-namespace.",
  },
  side: {
    value: choiceValue(['both', 'platform', 'target']),
    fallback: 'both',
    help: "What to print: platform (the Secret for the platform's cluster), target (the account for the target), or both.",
  },
  'legacy-impersonation': {
    value: switchValue,
    fallback: 'false',
    shownDefault: 'off',
    help: 'Print the rights of legacy impersonation, for a target older than Kubernetes 1.36.',
  },
  help: helpFlag,
} satisfies Readonly<Record<string, Flag<unknown>>>

type TargetFlagValues = ValuesOf<typeof FLAGS>

const HELP = helpText({
  usage: 'target',
  summary: `Print the manifests that connect a cluster, a virtual cluster or a space to the gateway.
The Secret with the kubeconfig is for the platform's cluster. The other manifests are for the target: the
gateway's account, its token and its right to impersonate callers. Print each side with --side and apply it
to its cluster. The kubeconfig is checked as the gateway checks it.`,
  flags: FLAGS,
  exitCodes: { 0: 'The manifests are printed.' },
})

/** The flags of `target` as a Markdown table, for the docs. */
export const targetFlagsTable = (): string => flagsMarkdown(FLAGS)

/** The manifests that a command line of `target` prints, or every fault of it and of the kubeconfig. */
export function readTargetCommand(
  argv: readonly string[],
  { file }: Pick<ProcessInputs, 'file'>,
): Exclude<Invocation<never>, { readonly kind: 'run' }> {
  const { values, faults } = readFlags(FLAGS, argv)
  if (values.help) return { kind: 'print', text: HELP }
  if (faults.length > 0) return usageError('target', faults)
  // Without a fault, each flag has a value.
  const complete = values as TargetFlagValues
  const isPrinted = (side: 'platform' | 'target'): boolean =>
    complete.side === side || complete.side === 'both'
  const { kind } = complete
  const data = dataOf(complete, file)
  const all = [
    ...(isPrinted('platform') ? platformFaults(complete, data) : []),
    ...(complete.side === 'target' && kind === 'space' ? [SPACE_FAULT] : []),
  ]
  if (all.length > 0) return usageError('target', all)
  const namespace = complete['target-namespace'] ?? FLAGS['target-namespace'].fallback
  const platform = isPrinted('platform') ? [secretManifest(namespace, kind, data)] : []
  const target =
    isPrinted('target') && kind !== 'space' ? targetManifests(complete['legacy-impersonation']) : []
  const text = [sectionOf(PLATFORM_TITLE, platform), sectionOf(TARGET_TITLE, target)]
  return { kind: 'print', text: text.filter(Boolean).join('---\n') }
}

const SPACE_FAULT = 'a space has no account of its own: --side=target is for its cluster'
const PLATFORM_TITLE = "# For the platform's cluster: how the gateway reaches the target."
const TARGET_TITLE = "# For the target itself: the gateway's account, and its rights."

const sectionOf = (title: string, objects: readonly object[]): string =>
  objects.length === 0 ? '' : `${title}\n${objects.map(formatYaml).join('---\n')}`

/** The faults that the gateway would find in the data. */
function platformFaults(
  { kind, kubeconfig }: Pick<TargetFlagValues, 'kind' | 'kubeconfig'>,
  data: TargetData,
): readonly string[] {
  const isUnreadable = kubeconfig !== null && data.kubeconfig === undefined
  if (isUnreadable) return [`--kubeconfig: ${kubeconfig} cannot be read`, ...faultsOf(kind, data)]
  return faultsOf(kind, data)
}

function faultsOf(kind: ConnectedKind, data: TargetData): readonly string[] {
  const definition = definitionFrom(kind, data)
  // The Secret's fields have the names of the flags.
  return definition.kind === 'valid'
    ? []
    : [definition.because.replace(/(^|; )([a-z]+) is missing/g, '$1--$2 is required')]
}

/** The data of the Secret, from the flags that are set. */
function dataOf(values: TargetFlagValues, file: ProcessInputs['file']): TargetData {
  const { name, project, cluster, namespace } = values
  const kubeconfig = values.kubeconfig === null ? null : file(values.kubeconfig)
  const given = Object.entries({ name, project, kubeconfig, cluster, namespace })
  return Object.fromEntries(given.filter(([, text]) => text !== null)) as TargetData
}
