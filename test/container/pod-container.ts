import {
  GenericContainer,
  getContainerRuntimeClient,
  StartupCheckStrategy,
  type StartedTestContainer,
} from 'testcontainers'
import { type Container, fieldOf, type Pod, type SecurityContext } from './pod.ts'

/** How a container is held back, in the words of Docker; null where nothing is said. */
export interface Confinement {
  readonly user: string | null
  readonly isReadOnly: boolean
  readonly droppedCapabilities: readonly string[]
  readonly noNewPrivileges: boolean
  readonly memoryBytes: number | null
  readonly cpus: number | null
}

/** Everything that the program does without: no manifest of ours allows less. */
export const HELD_BACK: Confinement = {
  user: null,
  isReadOnly: true,
  droppedCapabilities: ['ALL'],
  noNewPrivileges: true,
  memoryBytes: 256 * 2 ** 20,
  cpus: 1,
}

/** testcontainers has no word for some of it. */
class ConfinedContainer extends GenericContainer {
  confine(how: Confinement): this {
    this.createOpts = { ...this.createOpts, ...(how.user === null ? {} : { User: how.user }) }
    this.hostConfig = {
      ...this.hostConfig,
      ReadonlyRootfs: how.isReadOnly,
      CapDrop: [...how.droppedCapabilities],
      SecurityOpt: how.noNewPrivileges ? ['no-new-privileges'] : [],
      ...(how.memoryBytes === null ? {} : { Memory: how.memoryBytes, MemorySwap: how.memoryBytes }),
      ...(how.cpus === null ? {} : { NanoCpus: how.cpus * 1e9 }),
    }
    return this
  }

  called(hostname: string): this {
    this.createOpts = { ...this.createOpts, Hostname: hostname }
    return this
  }

  asking(nameServer: string): this {
    this.hostConfig = { ...this.hostConfig, Dns: [nameServer] }
    return this
  }

  /** Sees the processes of another container, as one that `kubectl debug --target` adds to a pod. */
  beside(containerId: string): this {
    this.hostConfig = { ...this.hostConfig, PidMode: `container:${containerId}` }
    return this
  }
}

/** Waits for nothing: whether it is ready is for probes to tell. */
class AtOnce extends StartupCheckStrategy {
  override async checkStartupState(): Promise<'SUCCESS'> {
    return 'SUCCESS'
  }
}

/** A container that is held back; what else it needs is added before its start. */
export const confined = (image: string, how: Confinement): ConfinedContainer =>
  new ConfinedContainer(image).confine(how).withWaitStrategy(new AtOnce())

/** A container that runs, or has run. */
export interface RunningContainer {
  readonly container: StartedTestContainer
  /** Everything that it has written so far. */
  readonly log: () => string
  /** Its exit code, when it ends and all that it wrote is in `log`. */
  readonly exited: Promise<number>
  signal(name: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): Promise<void>
  /** SIGTERM, and SIGKILL when it takes longer; removes it. */
  end(withinMs: number): Promise<number>
}

/** Starts it and follows its output. */
export async function launch(container: GenericContainer): Promise<RunningContainer> {
  let log = ''
  const { promise: logEnded, resolve: endLog } = Promise.withResolvers<void>()
  const started = await container
    .withLogConsumer((stream) => {
      stream.on('data', (text: Buffer | string) => (log += String(text))).once('close', endLog)
    })
    .start()
  const client = await getContainerRuntimeClient()
  const handle = client.container.getById(started.getId())
  const exited = Promise.all([handle.wait(), logEnded]).then(
    ([{ StatusCode }]: [{ StatusCode: number }, void]) => StatusCode,
  )
  return {
    container: started,
    log: () => log,
    exited,
    signal: async (name) => void (await handle.kill({ signal: name })),
    end: async (withinMs) => {
      await started.stop({ remove: false, timeout: withinMs })
      const code = await exited
      await handle.remove({ v: true, force: true })
      return code
    },
  }
}

/** Where pods reach the API server. */
export interface ApiServerAddress {
  readonly host: string
  readonly ip: string
  readonly port: number
}

/** The container of a pod as kubelet would have it run. `folders` are those of its volumes. */
export function containerOf(
  pod: Pod,
  folders: ReadonlyMap<string, string>,
  api: ApiServerAddress,
): GenericContainer {
  const [spec] = pod.spec.containers
  const container = confined(spec.image, confinementOf(pod, spec))
    .called(pod.metadata.name)
    .withEnvironment({
      KUBERNETES_SERVICE_HOST: api.host,
      KUBERNETES_SERVICE_PORT: String(api.port),
      ...Object.fromEntries((spec.env ?? []).map((one) => [one.name, valueOf(pod, one)])),
    })
    .withExtraHosts([{ host: api.host, ipAddress: api.ip }])
    .withExposedPorts(...(spec.ports ?? []).map(({ containerPort }) => containerPort))
    .withBindMounts(mountsOf(spec, folders))
    .withTmpFs(tmpFsOf(spec, folders))
  if (spec.command) container.withEntrypoint([...spec.command])
  return spec.args ? container.withCommand([...spec.args]) : container
}

const valueOf = (pod: Pod, { value, valueFrom }: NonNullable<Container['env']>[number]): string =>
  valueFrom ? fieldOf(pod, valueFrom) : (value ?? '')

function mountsOf({ volumeMounts = [] }: Container, folders: ReadonlyMap<string, string>) {
  return volumeMounts.flatMap(({ name, mountPath, readOnly = false }) => {
    const source = folders.get(name)
    const mode = readOnly ? ('ro' as const) : ('rw' as const)
    return source === undefined ? [] : [{ source, target: mountPath, mode }]
  })
}

/** The others are folders of the pod's own, which begin empty. */
const tmpFsOf = ({ volumeMounts = [] }: Container, folders: ReadonlyMap<string, string>) =>
  Object.fromEntries(
    volumeMounts.flatMap(({ name, mountPath }) => (folders.has(name) ? [] : [[mountPath, 'rw']])),
  )

/** The container's own word counts before the pod's. @throws Error where kubelet would not start it */
function confinementOf({ spec }: Pod, { securityContext, resources }: Container): Confinement {
  const how: SecurityContext = { ...spec.securityContext, ...securityContext }
  if (how.runAsNonRoot && how.runAsUser === 0) throw new Error('root, and runAsNonRoot')
  if (how.seccompProfile && how.seccompProfile.type !== 'RuntimeDefault')
    throw new Error(`this node has no seccomp profile ${how.seccompProfile.type}`)
  const { memory, cpu } = resources?.limits ?? {}
  return {
    user: how.runAsUser === undefined ? null : `${how.runAsUser}:${how.runAsGroup ?? 0}`,
    isReadOnly: how.readOnlyRootFilesystem ?? false,
    droppedCapabilities: how.capabilities?.drop ?? [],
    noNewPrivileges: how.allowPrivilegeEscalation === false,
    memoryBytes: memory === undefined ? null : quantity(memory),
    cpus: cpu === undefined ? null : quantity(cpu),
  }
}

const UNITS: Readonly<Record<string, number>> = { '': 1, m: 1e-3, Mi: 2 ** 20, Gi: 2 ** 30 }

function quantity(text: string): number {
  const [, number, unit = ''] = /^(\d+)([A-Za-z]*)$/.exec(text) ?? []
  const factor = UNITS[unit]
  if (factor === undefined) throw new Error(`this node does not know the quantity ${text}`)
  return Number(number) * factor
}
