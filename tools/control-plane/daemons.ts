import {
  apiServerCommand,
  CONTROLLERS,
  controllerManagerCommand,
  etcdCommand,
  type Plan,
  urls,
} from './commands.ts'
import { createDaemon, type Daemon } from './daemon.ts'
import type { DaemonProcesses } from './daemon-processes.ts'
import { ask, type Tls } from './https.ts'

/** The daemons of a control plane. */
export interface Daemons {
  readonly etcd: Daemon
  readonly apiServer: Daemon
  /** Never started by a plan without controllers. */
  readonly controllerManager: Daemon
}

/** The daemons of a plan, none of them started. `kube` and `etcd` say whom to trust and what to show. */
export function createDaemons(
  processes: DaemonProcesses,
  plan: Plan,
  tls: { readonly kube: Tls; readonly etcd: Tls },
): Daemons {
  const { apiServer, controllerManager, etcdClient } = urls(plan.ports)
  return {
    etcd: createDaemon(processes, etcdCommand(plan), () => isOk(`${etcdClient}/health`, tls.etcd)),
    apiServer: createDaemon(processes, apiServerCommand(plan), async () => {
      // The namespace is made shortly after the server calls itself ready.
      const namespace = `${apiServer}/api/v1/namespaces/default`
      return (await isOk(`${apiServer}/readyz`, tls.kube)) && isOk(namespace, tls.kube)
    }),
    controllerManager: createDaemon(processes, controllerManagerCommand(plan), async () => {
      // A controller is listed once it has started.
      const { status, body } = await ask(`${controllerManager}/healthz?verbose`, tls.kube)
      return status === 200 && CONTROLLERS.every((name) => body.includes(`[+]${name} ok`))
    }),
  }
}

/** Starts them one after the other, as each needs the one before. */
export async function startDaemons(
  { etcd, apiServer, controllerManager }: Daemons,
  controllers: Plan['controllers'],
): Promise<void> {
  await etcd.start()
  await apiServer.start()
  if (controllers !== 'none') await controllerManager.start()
}

async function isOk(url: string, tls: Tls): Promise<boolean> {
  return (await ask(url, tls)).status === 200
}
