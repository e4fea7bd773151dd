// The configuration file of a virtual cluster, read again while the syncer runs (contract 16.1).
import { readFileSync } from 'node:fs'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { parseYaml } from '../../runtime/yaml.ts'
import {
  type CheckedConfig,
  type ConfigWarning,
  type SyncConfig,
  checkSyncConfig,
} from '../../sync/config/config.ts'

/** The document in a file. @throws Error that names the file, never a value */
export function readYaml(path: string): unknown {
  return parsed(path, readText(path))
}

/** Options of followConfigFile. */
interface ConfigFileOptions {
  readonly path: string
  readonly clock: Clock
  readonly signal: AbortSignal
  /** A sentence for each fault that only a look at the clusters finds. */
  readonly faultsOf: (config: SyncConfig) => Promise<readonly string[]>
  /** Called with each new valid configuration. The file is not read again until the promise has resolved. */
  readonly onConfig: (config: SyncConfig, warnings: readonly ConfigWarning[]) => Promise<void>
  /** Called when the file is invalid or can't be read, and when its faults change: the last valid content stays in force. */
  readonly onFaults: (faults: readonly string[]) => void
  /** Called when the content in force is back after faults. */
  readonly onRestored: () => void
}

/** Polled, because a mounted ConfigMap changes by a rename of its folder, for which the file system sends no event. */
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
  const { path, clock, signal, faultsOf, onConfig, onFaults, onRestored } = options
  let inForce = text
  /** The content that needs no check; null = the file could not be read, undefined = check any content. */
  let checked: string | null | undefined = text
  let reported = ''
  for (;;) {
    await sleep(clock, READ_EVERY_MS, signal)
    if (signal.aborted) return
    const current = readable(path)
    if (current === checked) continue
    checked = current
    if (current === inForce) {
      reported = ''
      onRestored()
      continue
    }
    const { config, faults, warnings } = checkedText(path, current)
    const all = config === null ? faults : await faultsOf(config)
    if (config === null || current === null || all.length > 0) {
      // A cluster may get later what it lacks: check again.
      if (config !== null) checked = undefined
      const sentences = all.join('\n')
      if (sentences !== reported) onFaults(all)
      reported = sentences
    } else {
      reported = ''
      inForce = current
      await onConfig(config, warnings)
    }
  }
}

function readable(path: string): string | null {
  try {
    return readText(path)
  } catch {
    return null
  }
}

/** The checked text; null = it could not be read. */
function checkedText(path: string, text: string | null): CheckedConfig {
  const invalid = ({ message }: Error) => ({ config: null, faults: [message], warnings: [] })
  if (text === null) return invalid(unreadable(path))
  try {
    return checkSyncConfig(parsed(path, text))
  } catch (error) {
    if (error instanceof Error) return invalid(error)
    throw error
  }
}

const unreadable = (path: string, cause?: unknown): Error =>
  new Error(`${path}: it cannot be read`, { cause })

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw unreadable(path, error)
  }
}

function parsed(path: string, text: string): unknown {
  try {
    return parseYaml(text)
  } catch (error) {
    const because = error instanceof Error ? error.message : 'it is not YAML'
    throw new Error(`${path}: ${because}`, { cause: error })
  }
}
