// `make run`: a real control plane with the operator and the samples on it, to look at. The data
// stays in .run, so the next run goes on where this one ended; `make clean` forgets it.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { ensureBinaries } from './control-plane/binaries.ts'
import { type ControlPlane, startControlPlane } from './control-plane/control-plane.ts'
import { keepOperator } from './run/operator.ts'

const ROOT = resolve(import.meta.dirname, '..')
const MAIN = join(ROOT, 'src/main.ts')
const SAMPLES = join(ROOT, 'config/samples')
/** Another folder than .run serves a second run at the same time, such as the test of the README. */
const HOME = resolve(process.env['RUN_DIR'] ?? join(ROOT, '.run'))
const DATA = join(HOME, 'control-plane')
/** Beside the data, so that it goes when they do. */
const SAMPLES_APPLIED = join(DATA, 'samples-applied')

const say = (line: string): void => console.log(line)

let isReady = false
const stopped = new Promise<void>((stop) => {
  // Not once: make and the terminal may both send it, and a second one must not cut the stop short.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (isReady) return stop()
      // Whatever has been started ends with this process: see control-plane.ts and tether.ts.
      console.error(`${signal} before it was ready: ending`)
      process.exit(128 + constants.signals[signal])
    })
  }
})

async function main(): Promise<void> {
  mkdirSync(HOME, { recursive: true, mode: 0o700 })
  const controlPlane = await startControlPlane({ dataDir: DATA, log: say })
  try {
    await install(controlPlane)
    await serve(controlPlane)
  } finally {
    await controlPlane.stop()
  }
}

async function serve(controlPlane: ControlPlane): Promise<void> {
  const operator = await keepOperator({
    controlPlane,
    main: MAIN,
    namespace: 'platform-system',
    logFile: join(HOME, 'operator.log'),
    pidFile: join(HOME, 'operator.pid'),
    log: say,
  })
  try {
    await operator.ready()
    const isFirst = !existsSync(SAMPLES_APPLIED)
    if (isFirst) await applySamples(controlPlane)
    await writeEnvironment(controlPlane)
    isReady = true
    sayTour(isFirst)
    const keeping = keepDaemons(controlPlane)
    await stopped
    await keeping.stop()
    say('stopping the operator, then the control plane')
  } finally {
    await operator.stop()
  }
}

async function kubectl(controlPlane: ControlPlane, ...args: readonly string[]): Promise<void> {
  const { code, stderr } = await controlPlane.kubectl(args)
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')} failed:\n${stderr.trim()}`)
}

async function install(controlPlane: ControlPlane): Promise<void> {
  say('installing CRDs and RBAC: kubectl apply --server-side -k config/default')
  await kubectl(controlPlane, 'apply', '--server-side', '-k', join(ROOT, 'config/default'))
  const ours = ['crd', '-l', 'app.kubernetes.io/part-of=management-operator']
  await kubectl(controlPlane, 'wait', '--for=condition=Established', '--timeout=30s', ...ours)
}

/** Once per data folder: what somebody has changed or deleted since stays changed or deleted. */
async function applySamples(controlPlane: ControlPlane): Promise<void> {
  say('applying the samples: kubectl apply --server-side -f config/samples')
  await kubectl(controlPlane, 'apply', '--server-side', '-f', SAMPLES)
  writeFileSync(SAMPLES_APPLIED, '')
  const seen = '--for=jsonpath={.status.observedGeneration}'
  await kubectl(controlPlane, 'wait', seen, '--timeout=30s', '-f', SAMPLES)
}

const LOOK_EVERY_MS = 1000

/** Starts the daemons again that end by themselves: whoever kills one sees what a cluster does. */
function keepDaemons({ etcd, apiServer, controllerManager }: ControlPlane): {
  stop(): Promise<void>
} {
  let looking = Promise.resolve()
  const look = async (): Promise<void> => {
    const ended = [etcd, apiServer, controllerManager].filter(({ pid }) => pid === null)
    for (const daemon of ended) await daemon.start()
    if (ended.length > 0) say('the control plane is whole again')
  }
  const timer = setInterval(() => {
    looking = looking.then(look).catch((error: unknown) => say(messageOf(error)))
  }, LOOK_EVERY_MS)
  return {
    stop: async () => {
      clearInterval(timer)
      await looking
    },
  }
}

/** What `. .run/env` sets: kubectl of the control plane's version, its kubeconfig, and our program. */
async function writeEnvironment(controlPlane: ControlPlane): Promise<void> {
  const { kubectl: kubectlPath } = await ensureBinaries(say)
  const bin = join(HOME, 'bin')
  mkdirSync(bin, { recursive: true })
  const wrapper = join(bin, 'management-operator')
  writeFileSync(wrapper, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`)
  chmodSync(wrapper, 0o755)
  const lines = [
    `export KUBECONFIG='${controlPlane.adminKubeconfig}'`,
    `export PATH='${bin}':'${dirname(kubectlPath)}':"$PATH"`,
  ]
  writeFileSync(join(HOME, 'env'), `${lines.join('\n')}\n`)
}

function sayTour(isFirst: boolean): void {
  const what = isFirst
    ? `a control plane with the operator and ${sampleKeys()} sample keys`
    : 'the control plane as the last run left it, with the operator'
  const look = isFirst ? '\n  kubectl describe oak one-minute' : ''
  say(`
Ready: ${what}. In another terminal:

  . ${HOME}/env
  kubectl get oak${look}
  kubectl explain oak.spec

README.md goes on from here. Ctrl-C ends it; the data stays in ${HOME}.`)
}

const sampleKeys = (): number =>
  readFileSync(join(SAMPLES, 'keys.yaml'), 'utf8').match(/^kind: OwnedAccessKey$/gm)?.length ?? 0

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

try {
  await main()
} catch (error) {
  console.error(messageOf(error))
  process.exit(1)
}
