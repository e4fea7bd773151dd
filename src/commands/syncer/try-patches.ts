import { type Json, type JsonMap, isMap } from '../../domain/json/json.ts'
import { nestedString } from '../../domain/json/field-path.ts'
import {
  type Flag,
  type Invocation,
  choiceValue,
  fileValue,
  flagsMarkdown,
  helpFlag,
  helpText,
  readFlagsAndArguments,
  usageError,
  switchValue,
  printText,
} from '../../runtime/flags.ts'
import { type Patched, applyPatches } from '../../sync/patches/apply.ts'
import { type CheckedConfig, type SyncConfig, checkSyncConfig } from '../../sync/config/config.ts'
import { SYNCED_KINDS, SYNCED_RESOURCES, syncedKindOf } from '../../sync/objects/synced-kinds.ts'
import type { Patch } from '../../sync/patches/parse.ts'
import { WITHOUT_CLUSTERS } from '../../sync/patches/reference.ts'
import type { Evaluate } from '../../sync/sandbox/protocol.ts'
import type { Sandbox } from '../../sync/sandbox/sandbox.ts'
import { canHoldSecret } from '../../sync/patches/secrecy.ts'
import { readYaml } from './config-file.ts'
import { CONFIG_FLAG, LONGEST_NAMESPACE, LONGEST_VIRTUAL_CLUSTER, dnsLabelValue } from './flags.ts'
import { sortedYaml, unifiedDiff, withoutSecrets } from './object-diff.ts'

const FLAGS = {
  ...CONFIG_FLAG,
  object: {
    value: fileValue,
    fallback: '',
    shownDefault: 'none, required by try',
    help: 'Path to the manifest of the object to patch.',
  },
  reverse: {
    value: switchValue,
    fallback: 'false',
    shownDefault: 'off',
    help: 'Patch from host to virtual cluster; the object is a host object.',
  },
  'virtual-cluster': {
    value: dnsLabelValue(LONGEST_VIRTUAL_CLUSTER),
    fallback: 'my-vc',
    help: 'Name of the virtual cluster, as expressions see it.',
  },
  'host-namespace': {
    value: dnsLabelValue(LONGEST_NAMESPACE),
    fallback: 'vc-host',
    help: 'Namespace on the host, as expressions see it.',
  },
  output: {
    value: choiceValue(['diff', 'yaml']),
    fallback: 'diff',
    help: 'Output format of try: diff (empty if nothing changes) or yaml (the patched object).',
  },
  'show-secrets': {
    value: switchValue,
    fallback: 'false',
    shownDefault: 'off',
    help: 'Print the values of Secrets, and the values set by patches that can read Secrets or the configuration.',
  },
  help: helpFlag,
} satisfies Readonly<Record<string, Flag<unknown>>>

const HELP = helpText({
  usage: 'syncer validate|try',
  summary: `Check the patches of a virtual cluster's configuration, and try them on an object.
validate reads the configuration and prints every fault of sync.toHost with its place. try applies the
patches of the object's kind to it and prints what changes. Neither needs a cluster.`,
  flags: FLAGS,
  exitCodes: {
    0: 'The configuration has no faults; warnings are printed.',
    1: 'The configuration has faults, a file cannot be read, or an expression fails.',
  },
})

/** The flags of `syncer validate` and `syncer try` as a Markdown table, for the docs. */
export const tryFlagsTable = (): string => flagsMarkdown(FLAGS)

interface AttemptSettings {
  readonly config: string
  /** null = validate only. */
  readonly attempt: TryOptions | null
}

/** Settings of `try`. */
interface TryOptions {
  readonly object: string
  readonly direction: 'forward' | 'reverse'
  readonly virtualCluster: string
  readonly hostNamespace: string
  readonly output: 'diff' | 'yaml'
  readonly showsSecrets: boolean
}

/**
 * `management-operator syncer validate` and `syncer try` (contract 16.1).
 *
 * @param open starts the sandbox, once `try` has read its files; it is closed at the end
 * @returns the exit code
 */
export async function run(argv: readonly string[], open: () => Sandbox): Promise<number> {
  const invocation = readAttemptSettings(argv)
  if (invocation.kind !== 'run') return printText(invocation)
  const { config, attempt } = invocation.settings
  try {
    const checked = checkSyncConfig(readYaml(config))
    for (const { text } of checked.warnings) process.stderr.write(`warning: ${text}\n`)
    for (const fault of checked.faults) process.stderr.write(`${fault}\n`)
    if (checked.config === null) return 1
    return attempt === null ? reportValid(checked) : await tryPatches(checked.config, attempt, open)
  } catch (error) {
    const because = error instanceof Error ? error.message : String(error)
    process.stderr.write(`management-operator syncer: ${because}\n`)
    return 1
  }
}

function readAttemptSettings(argv: readonly string[]): Invocation<AttemptSettings> {
  const { values, faults, args } = readFlagsAndArguments(FLAGS, argv)
  if (values.help) return { kind: 'print', text: HELP }
  const [subcommand, ...others] = args
  const all = [...faults]
  if (others.length > 0)
    all.push(`unexpected ${others.map((one) => JSON.stringify(one)).join(', ')}`)
  const { config = null, object = null } = values
  if (config === null) all.push('--config is required')
  if (subcommand === 'try' && object === null) all.push('try needs --object')
  const { output, 'virtual-cluster': virtualCluster, 'host-namespace': hostNamespace } = values
  const isWhole =
    output !== undefined && virtualCluster !== undefined && hostNamespace !== undefined
  if (all.length > 0 || config === null || !isWhole) return usageError('syncer', all)
  const attempt =
    subcommand === 'validate' || object === null
      ? null
      : {
          object,
          direction: values.reverse ? ('reverse' as const) : ('forward' as const),
          virtualCluster,
          hostNamespace,
          output,
          showsSecrets: values['show-secrets'] ?? false,
        }
  return { kind: 'run', settings: { config, attempt } }
}

function reportValid({ config, warnings }: CheckedConfig): number {
  const patches = Object.values(config?.kinds ?? {}).reduce(
    (sum, kind) => sum + kind.patches.length,
    0,
  )
  const noted = warnings.length === 0 ? '' : `, warnings: ${warnings.length}`
  process.stdout.write(`valid: ${patches} patches${noted}\n`)
  return 0
}

async function tryPatches(
  config: SyncConfig,
  attempt: TryOptions,
  open: () => Sandbox,
): Promise<number> {
  const object = readYaml(attempt.object) as Json
  if (!isMap(object)) throw new Error(`${attempt.object}: it holds no object`)
  const objectKind = nestedString(object, ['kind'])
  const kind = syncedKindOf(objectKind)
  if (kind === null)
    throw new Error(
      `${attempt.object}: kind ${JSON.stringify(objectKind)} is not synced, accepted are ${SYNCED_KINDS.map((one) => SYNCED_RESOURCES[one].kind).join(', ')}`,
    )
  const isForward = attempt.direction === 'forward'
  const { patches } = config.kinds[kind]
  const sandbox = open()
  try {
    const patched = await applyPatches(
      object,
      patches,
      attempt.direction,
      {
        place: {
          virtualCluster: attempt.virtualCluster,
          hostNamespace: attempt.hostNamespace,
          namespaces: config.namespaces,
        },
        namespace: nestedString(object, ['metadata', 'namespace']) || 'default',
        config: config.withDefaults,
        virtualObject: isForward ? object : null,
        hostObject: isForward ? null : object,
        ...WITHOUT_CLUSTERS,
      },
      patiently(sandbox.evaluate),
    )
    if (!isForward && patches.some((patch) => patch.kind === 'reference'))
      process.stderr.write(
        'warning: references are not patched back here: that needs the objects of both clusters\n',
      )
    return report(object, patches, patched, attempt)
  } finally {
    await sandbox.close()
  }
}

/** Evaluations of a field whose failures may be those of a busy machine. */
const MOST_TRIES = 4

/** The syncer writes the object later when an expression has overrun; `try` has no later. */
const patiently =
  (evaluate: Evaluate): Evaluate =>
  async (request) => {
    for (let tries = 1; ; tries += 1) {
      const result = await evaluate(request)
      if (result.kind !== 'failed' || !result.isTransient || tries === MOST_TRIES) return result
    }
  }

function report(
  object: JsonMap,
  patches: readonly Patch[],
  patched: Patched,
  { output, showsSecrets }: TryOptions,
): number {
  if (!patched.ok) {
    const { patch, path, failure } = patched
    const isHidden = !showsSecrets && canHoldSecret(object, patches, patch)
    const detail = failure.detail === '' || isHidden ? '' : `: ${failure.detail}`
    process.stderr.write(`${patch.entry} at ${path}: ${failure.because}${detail}\n`)
    return 1
  }
  const pair = { before: object, after: patched.object }
  const shown = showsSecrets ? pair : withoutSecrets(pair, patches, patched.changed)
  process.stdout.write(output === 'yaml' ? sortedYaml(shown.after) : unifiedDiff(shown))
  return 0
}
