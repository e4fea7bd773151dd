import { spawnSync } from 'node:child_process'
import { cpSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { NODE_FLAGS } from '../../../../tools/node-flags.ts'
import { run } from '../../../../src/commands/syncer/try-patches.ts'
import { type Evaluate, OVERRUN } from '../../../../src/sync/sandbox/protocol.ts'
import { captured, runHere } from '../../../support/command-line.ts'
import { type RunResult, runProgram } from '../../../support/command-process.ts'
import { syncerCommandLines } from './command-lines.ts'

const { home, file, configOf, objectOf, attempt } = syncerCommandLines()

const label = { path: 'metadata.labels.app', expression: '"host-" + value' }

test.each(['validate', 'try'])('syncer %s --help prints the help of both (16.1)', async (name) => {
  const { code, stdout } = await runHere(['syncer', name, '--help'])
  expect(code).toBe(0)
  expect(stdout).toContain('\nUsage: management-operator syncer validate|try [flags]\n')
})

describe('syncer validate (16.1)', () => {
  test('says how many patches are valid', async () => {
    expect(
      await runHere(['syncer', 'validate', '--config', configOf('endpoints', label)]),
    ).toMatchObject({
      code: 0,
      stdout: 'valid: 1 patches\n',
      stderr: '',
    })
  })

  test('prints all faults at once and exits with 1', async () => {
    const path = configOf('endpoints', { path: 'a..b', expression: 'value;' }, {})
    const { code, stdout, stderr } = await runHere(['syncer', 'validate', '--config', path])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toBe(
      [
        'sync.toHost.endpoints.patches[0] path "a..b": unexpected empty segment at 2',
        'sync.toHost.endpoints.patches[0] expression at 1:6: remove the semicolon',
        '  value;',
        '       ^',
        'sync.toHost.endpoints.patches[1] path is required',
        'sync.toHost.endpoints.patches[1] need to use one of: expression, labels or reference',
        '',
      ].join('\n'),
    )
  })

  test('warnings stop nothing', async () => {
    const path = configOf('pods', { path: 'spec', expression: 'value' })
    const { code, stderr } = await runHere(['syncer', 'validate', '--config', path])
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        'warning: sync.toHost.pods.patches is not served: this syncer syncs endpoints, services, secrets, configMaps\n',
    })
  })

  test.each([
    { name: 'no file', path: join(home, 'absent.yaml'), says: 'absent.yaml' },
    { name: 'a file that is not YAML', path: file('bad.yaml', 'a: [1'), says: 'bad.yaml: ' },
  ])('$name exits with 1 and names the file', async ({ path, says }) => {
    const { code, stderr } = await runHere(['syncer', 'validate', '--config', path])
    expect(code).toBe(1)
    expect(stderr).toContain(says)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })
})

describe('syncer try (16.1)', () => {
  test('prints a unified diff, and nothing where nothing changes', async () => {
    const endpoints = objectOf('Endpoints')
    expect((await attempt(configOf('endpoints', label), endpoints)).stdout).toContain(
      '-    app: web\n+    app: host-web\n',
    )
    const same = { ...label, expression: 'value' }
    expect(await attempt(configOf('endpoints', same), endpoints)).toMatchObject({
      code: 0,
      stdout: '',
      stderr: '',
    })
  })

  test('--output yaml prints the object with sorted keys', async () => {
    const { stdout } = await attempt(
      configOf('services', label),
      objectOf('Service'),
      '--output=yaml',
    )
    expect(stdout).toBe(
      'apiVersion: v1\nkind: Service\nmetadata:\n  labels:\n    app: host-web\n  name: web\n  namespace: shop\n',
    )
  })

  test('--reverse patches the host object, and warns of references, which need both clusters', async () => {
    const reverse = {
      path: 'metadata.labels.app',
      reverseExpression: 'String(context.virtualObject === null)',
    }
    const reference = { path: 'metadata.annotations.other', reference: { kind: 'Secret' } }
    const { stdout, stderr } = await attempt(
      configOf('configMaps', reverse, reference),
      objectOf('ConfigMap'),
      '--reverse',
    )
    expect(stdout).toContain('+    app: "true"\n')
    expect(stderr).toMatch(/^warning: references are not patched back here/)
  })

  test('expressions see the names of the flags', async () => {
    const names = { ...label, expression: 'virtualToHostDNS("a.b.svc")' }
    const { stdout } = await attempt(
      configOf('endpoints', names),
      objectOf('Endpoints'),
      '--virtual-cluster=blue',
      '--host-namespace=blue-host',
    )
    expect(stdout).toContain('+    app: a-x-b-x-blue.blue-host.svc.cluster.local\n')
  })

  test('an expression that fails exits with 1, with its entry, path and message', async () => {
    const failing = { ...label, expression: 'value.a.b' }
    const { code, stdout, stderr } = await attempt(
      configOf('endpoints', failing),
      objectOf('Endpoints'),
    )
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(
      /^sync\.toHost\.endpoints\.patches\[0\] at metadata\.labels\.app: TypeError: .+\n$/,
    )
  })

  test.each([
    { name: 'another kind', content: { kind: 'Pod' }, says: 'kind "Pod" is not synced' },
    { name: 'no kind', content: {}, says: 'kind "" is not synced' },
    { name: 'no object', content: [], says: 'it holds no object' },
  ])('$name is refused', async ({ content, says }) => {
    const { code, stderr } = await attempt(configOf('endpoints', label), file('x.yaml', content))
    expect(code).toBe(1)
    expect(stderr).toContain(says)
  })
})

test('an expression fails where the sandbox cannot start (19.4)', () => {
  const root = join(import.meta.dirname, '../../../..')
  const copy = join(home, 'program')
  for (const part of ['src', 'package.json'])
    cpSync(join(root, part), join(copy, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  writeFileSync(join(copy, 'src/sync/sandbox/worker.ts'), 'throw new Error("broken")')
  const argv = ['syncer', 'try', '--config', configOf('endpoints', label)]
  const { status, stderr } = spawnSync(
    process.execPath,
    [...NODE_FLAGS, join(copy, 'src/main.ts'), ...argv, '--object', objectOf('Endpoints')],
    { encoding: 'utf8', timeout: 30_000, killSignal: 'SIGKILL' },
  )
  expect(stderr).toBe(
    'sync.toHost.endpoints.patches[0] at metadata.labels.app: the sandbox cannot start\n',
  )
  expect(status).toBe(1)
})

describe('an expression that overruns, as any may on a busy machine (19.4)', () => {
  /** A run of `try` in a sandbox where so many evaluations overrun before one does not. */
  const afterOverruns = (most: number): Promise<RunResult> => {
    let overruns = 0
    const evaluate: Evaluate = async () =>
      overruns++ < most ? OVERRUN : { kind: 'value', json: '"host-web"' }
    const argv = ['try', '--config', configOf('endpoints', label), '--object']
    return captured(() =>
      run([...argv, objectOf('Endpoints')], () => ({ evaluate, close: async () => undefined })),
    )
  }

  test('is tried again', async () => {
    expect((await afterOverruns(7)).stdout).toContain('+    app: host-web\n')
  })

  test('fails when it overruns each time', async () => {
    expect(await afterOverruns(100)).toMatchObject({
      code: 1,
      stderr:
        'sync.toHost.endpoints.patches[0] at metadata.labels.app: it took longer than 100 ms\n',
    })
  })
})

test('the time zone of the process is none of the expressions (19.4)', async () => {
  const local = { ...label, expression: 'new Date(2020, 0, 31).toString()' }
  const argv = ['syncer', 'try', '--config', configOf('endpoints', local)]
  const { stdout } = await runProgram([...argv, '--object', objectOf('Endpoints')], {
    TZ: 'Asia/Tokyo',
  })
  expect(stdout).toContain('+    app: "Fri Jan 31 2020 00:00:00 GMT+0000"\n')
})

test.each([
  { name: 'a diff', patch: label, code: 0 },
  { name: 'a failure', patch: { ...label, expression: 'value.a.b' }, code: 1 },
])('the process writes nothing besides $name (16.1)', async ({ patch, code }) => {
  const argv = ['try', '--config', configOf('endpoints', patch), '--object', objectOf('Endpoints')]
  const result = await runProgram(['syncer', ...argv])
  expect(result).toEqual(await runHere(['syncer', ...argv]))
  expect(result.code).toBe(code)
})

describe('a wrong command line exits with 2 and says what is right', () => {
  test.each([
    { argv: [], says: '--virtual-cluster is required; --host-namespace is required; --config is' },
    { argv: ['check', '--config=x'], says: '"check" is not a flag' },
    { argv: ['--config=x', 'validate'], says: '"validate" is not a flag' },
    { argv: ['validate'], says: '--config is required' },
    { argv: ['try', '--config=x'], says: 'try needs --object' },
    { argv: ['validate', 'more', '--config=x'], says: 'unexpected "more"' },
    {
      argv: ['try', '--config=x', '--object=y', '--virtual-cluster=UPPER'],
      says: 'a DNS label of at most 40',
    },
    {
      argv: ['try', '--config=x', '--object=y', `--virtual-cluster=${'a'.repeat(41)}`],
      says: 'at most 40',
    },
  ])('$argv', async ({ argv, says }) => {
    const { code, stdout, stderr } = await runHere(['syncer', ...argv])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(says)
  })
})
