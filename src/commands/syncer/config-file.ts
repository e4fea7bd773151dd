// The configuration file of a virtual cluster, read again while the syncer runs (contract 16.1).
import { readFileSync } from 'node:fs'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { parseYaml } from '../../runtime/yaml.ts'
import { type CheckedConfig, type SyncConfig, checkSyncConfig } from '../../sync/rules/config.ts'

/** The document in a file. @throws Error that names the file, never a value */
export function readYaml(path: string): unknown {
  return parsed(path, readText(path))
}

/** Follows a configuration file. */
interface ConfigFileOptions {
  readonly path: string
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Called with each other valid configuration, one after the other. */
  readonly onConfig: (config: SyncConfig, warnings: readonly string[]) => Promise<void>
  /** Called once for each content that is invalid: the last valid one stays in force. */
  readonly onFaults: (faults: readonly string[]) => void
}

/** A mounted ConfigMap is replaced by a rename of its folder, of which no event of the file system tells. */
const READ_EVERY_MS = 2000

/** The configuration in a file at the start. @throws Error with all faults, a line each */
export function readConfigFile(path: string): {
  readonly text: string
  readonly checked: CheckedConfig & { readonly config: SyncConfig }
} {
  const text = readText(path)
  const { config, faults, warnings } = checkSyncConfig(parsed(path, text))
  if (config === null) throw new Error(`${path} has faults:\n${faults.join('\n')}`)
  return { text, checked: { config, faults, warnings } }
}

/** Reads the file every two seconds until the signal aborts. @param text the content in force */
export async function followConfigFile(text: string, options: ConfigFileOptions): Promise<void> {
  const { path, clock, signal, onConfig, onFaults } = options
  let known = text
  let reported = ''
  for (;;) {
    await sleep(clock, READ_EVERY_MS, signal)
    if (signal.aborted) return
    try {
      const current = readText(path)
      if (current === known) continue
      known = current
      const { config, faults, warnings } = checkSyncConfig(parsed(path, current))
      if (config === null) onFaults(faults)
      else await onConfig(config, warnings)
      reported = ''
    } catch (error) {
      const because = error instanceof Error ? error.message : String(error)
      if (because !== reported) onFaults([because])
      reported = because
    }
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`${path}: it can not be read`, { cause: error })
  }
}

function parsed(path: string, text: string): unknown {
  try {
    return parseYaml(text)
  } catch (error) {
    const because = error instanceof Error ? error.message : 'it is no YAML'
    throw new Error(`${path}: ${because}`, { cause: error })
  }
}
