// The platform's settings of audit, followed by an agent, and kept while the platform is away (contract 23.1).
import type { AuditSettings } from '../../api/config.gen.ts'
import { parseJsonMap } from '../../domain/json/json.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { readKeptFile, replaceKeptFile } from '../../runtime/kept-file.ts'
import { type AgentSettings, agentSettingsOf, keptText, seenSettingsOf } from './agent-settings.ts'
import type { CentralClient } from './central-client.ts'

/** Callbacks of SettingsFollower. */
export interface SettingsObserver {
  /** The settings can't be read, are unknown there, or can't be kept; once a failure. @param cause may be logged */
  readonly settingsFailed: (cause: unknown) => void
  readonly settingsHealed: () => void
}

/** Dependencies of SettingsFollower. */
interface SettingsFollowerOptions {
  readonly central: Pick<CentralClient, 'readSettings'>
  /** The agent's own directory of the log. */
  readonly path: string
  /** The file that keeps the last settings; null = none does. */
  readonly file: string | null
  readonly clock: Clock
  readonly observer: SettingsObserver
}

/** Between the end of a read and the next one, in milliseconds: with the longest read, settings are 10 s old. */
const POLL_MS = 5000

/** A Config has 1.5 MiB at most. */
const LARGEST_FILE = 2 * 1024 * 1024

/** Follows the settings. */
export class SettingsFollower {
  readonly #options: SettingsFollowerOptions
  #seen: AuditSettings | null = null
  /** The content of the file; null = none, or one that does not count. */
  #kept: string | null = null
  #hasFailed = false

  constructor(options: SettingsFollowerOptions) {
    this.#options = options
  }

  /** Reads the kept ones. @returns the settings until the platform has answered */
  async load(): Promise<AgentSettings> {
    const { file, path } = this.#options
    if (file !== null) {
      const content = await readKeptFile(file, LARGEST_FILE).catch((error: unknown) =>
        this.#fail(error),
      )
      const settings = parseJsonMap(content?.toString() ?? '')
      this.#seen = settings && seenSettingsOf({ known: true, settings, from: 'record' })
      this.#kept = this.#seen && keptText(this.#seen)
    }
    return agentSettingsOf(this.#seen, path)
  }

  /** Follows until the signal, and calls the listener with each change. Never rejects. */
  async run(listener: (settings: AgentSettings) => void, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    while (!signal.aborted) {
      try {
        await this.#read(listener, signal)
        if (this.#hasFailed) this.#options.observer.settingsHealed()
        this.#hasFailed = false
      } catch (error) {
        if (!signal.aborted) this.#fail(error)
      }
      await sleep(clock, POLL_MS, signal)
    }
  }

  async #read(listener: (settings: AgentSettings) => void, signal: AbortSignal): Promise<void> {
    const { central, file, path } = this.#options
    const inForce = await central.readSettings()
    const seen = seenSettingsOf(inForce)
    if (seen === null)
      throw new Error(inForce.known ? 'the settings of audit have a fault' : inForce.because)
    const text = keptText(seen)
    if (!signal.aborted && (this.#seen === null || keptText(this.#seen) !== text)) {
      this.#seen = seen
      listener(agentSettingsOf(seen, path))
    }
    if (file === null || this.#kept === text) return
    await replaceKeptFile(file, [text])
    this.#kept = text
  }

  #fail(cause: unknown): null {
    if (!this.#hasFailed) this.#options.observer.settingsFailed(cause)
    this.#hasFailed = true
    return null
  }
}
