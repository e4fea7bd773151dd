// The agent's side of the audit log (contract 23.1): it records by the settings of the platform, and sends it the events.
import { join } from 'node:path'
import type { AuditSettings } from '../../api/config.gen.ts'
import type { Clock } from '../../runtime/clock.ts'
import { folderOf, type LogDirectory } from '../files/directory.ts'
import type { AgentSettings } from './agent-settings.ts'
import { type CentralOptions, createCentralClient } from './central-client.ts'
import { SettingsFollower, type SettingsObserver } from './followed-settings.ts'
import { EventSender, type SenderObserver } from './sender.ts'
import { AuditSpool, type SpoolLimits } from './spool.ts'

/** Settings and dependencies of an agent. */
export interface AgentAuditOptions {
  readonly central: Pick<CentralOptions, 'url' | 'ca' | 'accessKeyFile' | 'cluster'>
  /** Where the agent writes its log: the path is absolute, and not `-`, which leaves nothing to send. */
  readonly directory: LogDirectory
  /** Directory that keeps the settings of the platform; null = none does. */
  readonly stateDir: string | null
  readonly spool: SpoolLimits
  readonly clock: Clock
  readonly observer: SettingsObserver & SenderObserver
}

/** Beside the log, where no backup has its name. */
const POSITION_FILE = 'audit.position'

/** In the state directory, which replicas may share: all have the same settings. */
const SETTINGS_FILE = 'audit-settings.json'

/** An agent. */
export class AgentAudit {
  /** For the sink of its log. */
  readonly spool: AuditSpool
  readonly #settings: SettingsFollower
  readonly #sender: EventSender
  readonly #stopping = new AbortController()
  /** Ends requests and connections. */
  readonly #closing = new AbortController()
  #following: Promise<void> = Promise.resolve()

  constructor({ central: server, directory, stateDir, spool, clock, observer }: AgentAuditOptions) {
    const folder = folderOf(directory)
    const central = createCentralClient({ ...server, clock, signal: this.#closing.signal })
    this.spool = new AuditSpool(folder, spool)
    this.#settings = new SettingsFollower({
      central,
      path: directory.path,
      file: stateDir === null ? null : join(stateDir, SETTINGS_FILE),
      clock,
      observer,
    })
    this.#sender = new EventSender({
      central,
      folder,
      positionFile: join(folder, POSITION_FILE),
      spool: this.spool,
      clock,
      observer,
    })
  }

  /**
   * Takes what is kept, and starts to follow and to send. Never rejects.
   *
   * @param apply called with the settings before this resolves, and with each change until `end`
   */
  async start(apply: (settings: AuditSettings) => void): Promise<void> {
    const take = ({ audit, syncBack }: AgentSettings): void => {
      this.#sender.apply(syncBack)
      apply(audit)
    }
    const [kept] = await Promise.all([this.#settings.load(), this.#sender.load()])
    take(kept)
    this.#sender.start()
    this.#following = this.#settings.run(take, this.#stopping.signal)
  }

  /** Sends what the files have, as long as that succeeds, and ends. @param signal ends it before */
  async end(signal: AbortSignal): Promise<void> {
    this.#stopping.abort()
    signal.addEventListener('abort', () => this.#closing.abort(), { once: true })
    await this.#sender.end(signal)
    this.#closing.abort()
    await this.#following
  }
}
