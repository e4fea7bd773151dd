// Sessions in Pods through the gateway, on the path of each target, by a real kubectl (contract 9.4, 11.6, 11.9, 13.2).
import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { PROTOCOLS, startKubectl } from '../../support/kubectl-process.ts'
import { createPod, runPod } from '../../support/node.ts'
import {
  FIRST_SIZE,
  SIZE_PRINTER,
  copyThereAndBack,
  resizeTerminal,
  serveBytes,
} from '../../support/pod-sessions.ts'
import { isWhole } from '../../support/tier.ts'
import { TARGET_PATHS, TEAM, startForSessions } from './own-targets.ts'
import type { UsableKey } from './test-gateway.ts'

const { setup, targets, node } = await startForSessions()
const { plane } = setup
await runPod(plane, node, { name: 'web', namespace: TEAM })
const ada = await setup.key()
const BYTES = randomBytes(isWhole ? 50_000_000 : 1_000_000)

/** In the quick tier each target is reached by one of the protocols. */
const ROWS = TARGET_PATHS.flatMap((target, at) =>
  PROTOCOLS.map((protocol) => ({ ...target, ...protocol })).filter(
    (_, of) => isWhole || of === at % PROTOCOLS.length,
  ),
)

let names = 0
const newName = (): string => `pod-${++names}`

describe.each(ROWS)(
  'on the path of the $target, over $protocol',
  ({ target, path, protocol, env }) => {
    const kubeconfig = targets.kubeconfigFor(ada, path)
    const inTeam = (args: readonly string[]) => ['-n', TEAM, ...args]
    const start = (...args: readonly string[]) =>
      startKubectl(plane, inTeam(args), { env, kubeconfig })
    const run = (...args: readonly string[]) =>
      mustKubectl(plane, inTeam(args), { env, kubeconfig })

    test('exec passes every byte both ways, and the exit code (9.4, 13.2)', async () => {
      const exec = start('exec', '-i', 'web', '--', 'sh', '-c', 'cat; echo told >&2; exit 7')
      exec.stdin.end(BYTES)
      const { code, stdout, stderr } = await exec.ended
      expect(code).toBe(7)
      expect(stdout.equals(BYTES)).toBe(true)
      expect(stderr).toContain('told\n')
    })

    // The space is the path with most rules of its own.
    test.each(isWhole || target === 'space' ? ['work'] : [])(
      'discovery, OpenAPI, tables, server-side apply, diff and watches %s (9.4, 11.3)',
      async () => {
        const name = `settings-${target}-${protocol}`.replaceAll(' ', '-').toLowerCase()
        const manifest = (value: string): string =>
          JSON.stringify({
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { name, namespace: TEAM },
            data: { value },
          })
        const apply = (value: string) =>
          mustKubectl(plane, ['apply', '--server-side', '-f', '-'], {
            kubeconfig,
            input: manifest(value),
          })
        expect(await run('api-resources', '--api-group=apps', '-o', 'name')).toContain(
          'deployments.apps',
        )
        expect(await run('explain', 'pod.spec.ephemeralContainers')).toContain('ephemeral')
        await apply('1')
        const watch = start(
          'get',
          'configmap',
          name,
          '--watch',
          '-o',
          'jsonpath={.data.value}{"\\n"}',
        )
        await watch.printed(/^1\n/)
        const differs = await plane.kubectl(['diff', '-f', '-'], {
          kubeconfig,
          input: manifest('2'),
        })
        expect(differs).toMatchObject({ code: 1, stdout: expect.stringContaining('+  value: "2"') })
        await apply('2')
        await watch.printed(/^2$/m)
        expect(await run('get', 'configmaps', name)).toMatch(/^NAME +DATA +AGE\n/)
      },
    )

    test('attach, logs -f and debug pass what a process reads and writes (9.4)', async () => {
      const name = newName()
      const container = {
        stdin: true,
        command: ['sh', '-c', 'while read line; do echo "<$line>"; done'],
      }
      await runPod(plane, node, { name, namespace: TEAM, container })
      const logs = start('logs', '-f', name)
      const attach = start('attach', '-i', name)
      attach.stdin.write('one\n')
      await attach.printed(/<one>\n/)
      await logs.printed(/<one>\n/)
      const echo = ['sh', '-c', 'read line; echo "<$line>"']
      const debug = start('debug', name, '-i', '--image=none', '-c', 'more', '--', ...echo)
      debug.stdin.write('through\n')
      await debug.printed(/<through>\n/)
      expect((await debug.ended).code).toBe(0)
    })

    test('cp passes files both ways (9.4)', async () => {
      expect((await copyThereAndBack(run, 'web', BYTES)).equals(BYTES)).toBe(true)
    })

    test('port-forward passes connections (9.4)', async () => {
      const { port } = await serveBytes(BYTES, '127.0.0.1')
      const forward = start('port-forward', 'pod/web', `:${port}`)
      const [, local] = await forward.printed(/Forwarding from 127\.0\.0\.1:(\d+)/)
      const get = async () =>
        Buffer.from(await (await fetch(`http://127.0.0.1:${local}/`)).arrayBuffer())
      const bodies = await Promise.all(Array.from({ length: isWhole ? 20 : 2 }, get))
      expect(bodies.every((body) => body.equals(BYTES))).toBe(true)
    })

    test('a program behind a proxy of a Pod gets the path byte by byte (11.6)', async (context) => {
      const { address, noProxy } = node.where()
      context.skip(noProxy !== '', noProxy)
      const { port, asked } = await serveBytes(BYTES, address)
      const pod = `/api/v1/namespaces/${TEAM}/pods/web:${port}/proxy`
      // What the API server makes of a path is its own business: it must be the same.
      for (const tail of ['', '/', '/a%20b?x=1;y&x=2&%zz', '/a//b/%2e%2e/%2f', '/watch/?watch=1']) {
        const seen: (string | undefined)[] = []
        for (const gateway of [false, true]) {
          const raw = `${pod}${tail}`
          const { code } = gateway ? await setup.ask(ada.token, raw) : await plane.raw('GET', raw)
          seen.push(`${code} ${asked.at(-1)}`)
        }
        expect({ tail, through: seen[1] }).toEqual({ tail, through: seen[0] })
      }
    })
  },
)

test.skipIf(process.platform !== 'linux')(
  'exec has a terminal, which changes its size with that of the client (9.4)',
  async () => {
    const kubeconfig = targets.kubeconfigFor(ada, '/kubernetes/cluster/east')
    const args = ['-n', TEAM, 'exec', '-it', 'web', '--', ...SIZE_PRINTER]
    const exec = startKubectl(plane, args, { kubeconfig, terminal: FIRST_SIZE })
    expect(await resizeTerminal(exec)).toBe(3)
  },
)

// Concurrently, each with a key of its own.
describe.concurrent('a scope', () => {
  const rule = (verbs: readonly string[], ...resources: readonly string[]): OwnedAccessKeySpec => ({
    scope: { rules: [{ verbs: [...verbs], resources: [{ resources: [...resources] }] }] },
  })
  const exec = async (key: UsableKey, path: string, env: Readonly<Record<string, string>>) => {
    const kubeconfig = targets.kubeconfigFor(key, path)
    const args = ['-n', TEAM, 'exec', 'web', '--', 'echo', 'in']
    const { code, stderr } = await plane.kubectl(args, { kubeconfig, env })
    return code === 0 ? 'passes' : stderr
  }
  const [webSocket, spdy] = PROTOCOLS.map(({ env }) => env) as [
    (typeof PROTOCOLS)[0]['env'],
    (typeof PROTOCOLS)[1]['env'],
  ]
  const CLUSTER = '/kubernetes/cluster/east'
  const SPACE = '/kubernetes/project/p/space/team'

  test.each([
    {
      name: 'of get and create',
      spec: rule(['get', 'create'], 'pods', 'pods/exec'),
      says: ['passes', 'passes'],
    },
    // After any refusal of a WebSocket kubectl tries SPDY.
    {
      name: 'of get alone',
      spec: rule(['get'], 'pods', 'pods/exec'),
      says: ['does not grant "create"', 'does not grant "create"'],
    },
    {
      name: 'of every subresource by a wildcard',
      spec: rule(['get', 'create'], 'pods', 'pods/*'),
      says: ['does not grant', 'does not grant'],
    },
    {
      name: 'of the cluster',
      spec: { scope: { clusters: [{ cluster: 'east' }] } },
      says: ['passes', 'passes'],
    },
    {
      name: 'of another cluster',
      spec: { scope: { clusters: [{ cluster: 'west' }] } },
      says: ['does not grant', 'does not grant'],
    },
  ])('$name decides on exec on a cluster (11.6, 11.7)', async ({ spec, says }) => {
    const key = await setup.key(spec)
    expect(await exec(key, CLUSTER, webSocket)).toContain(says[0])
    expect(await exec(key, CLUSTER, spdy)).toContain(says[1])
  })

  test('a space keeps requests in the namespace, with a scope and without (11.9)', async () => {
    const others = await setup.key({ scope: { spaces: [{ project: 'p', space: 'team' }] } })
    for (const key of [ada, others]) {
      const kubeconfig = targets.kubeconfigFor(key, SPACE)
      expect(await exec(key, SPACE, webSocket)).toBe('passes')
      for (const args of [
        ['get', 'pods', '-n', 'default'],
        ['get', 'pods', '-A'],
        ['get', 'nodes'],
        ['get', 'namespaces'],
      ]) {
        const { code, stderr } = await plane.kubectl(args, { kubeconfig })
        expect({ args, code, stderr }).toMatchObject({
          code: 1,
          stderr: expect.stringMatching(/is outside the space|does not grant/),
        })
      }
      expect(
        await mustKubectl(plane, ['get', 'namespace', TEAM, '-o', 'name'], { kubeconfig }),
      ).toBe(`namespace/${TEAM}\n`)
      expect(
        await mustKubectl(plane, ['auth', 'can-i', 'list', 'nodes'], { kubeconfig }).catch(String),
      ).toContain('no')
    }
  })
})

// How soon each kind of session ends, in each way, is in stream-endings.private.test.ts.
test.each(PROTOCOLS)(
  'kubectl ends when its key is disabled, over $protocol (13.4)',
  async ({ env, protocol }) => {
    const key = await setup.key()
    const kubeconfig = targets.kubeconfigFor(key, '/kubernetes/cluster/east')
    const args = ['-n', TEAM, 'exec', '-i', 'web', '--', 'sh', '-c', 'echo begun; cat']
    const exec = startKubectl(plane, args, { kubeconfig, env })
    await exec.printed(/begun/)
    const changedMs = performance.now()
    await setup.keys.patch(key.object, { spec: { disabled: true } })
    const { stderr } = await exec.ended
    // kubectl over SPDY takes the end of the connection for that of the command.
    const says = protocol === 'SPDY' ? /^/ : /platform access key/
    expect(stderr).toMatch(says)
    expect(performance.now() - changedMs).toBeLessThan(5000)
  },
)

test('a Pod that is not there is no tunnel (13.2; threats A9)', async () => {
  await createPod(plane, node, {
    name: 'done',
    namespace: TEAM,
    command: ['true'],
    spec: { restartPolicy: 'Never' },
  })
  const kubeconfig = targets.kubeconfigFor(ada, '/kubernetes/cluster/east')
  for (const pod of ['missing', 'done']) {
    const { code, stderr } = await plane.kubectl(['-n', TEAM, 'exec', pod, '--', 'true'], {
      kubeconfig,
    })
    expect(code).toBe(1)
    expect(stderr).toMatch(/not found|completed pod|NotFound|current phase/)
  }
})
