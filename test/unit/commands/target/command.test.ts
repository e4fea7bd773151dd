import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import type { Secret } from '../../../../src/api/objects.ts'
import { readTargetCommand } from '../../../../src/commands/target/command.ts'
import { definitionOf } from '../../../../src/gateway/targets/definition.ts'
import { findCanaries, plantCanary } from '../../../support/canary.ts'
import { runProgram } from '../../../support/command-process.ts'
import { kubeconfig } from '../../gateway/targets/target-secrets.ts'

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly [field: string]: unknown
}

const CONFIG = join(import.meta.dirname, '../../../../config')
const FILES: Readonly<Record<string, string>> = {
  '/good': kubeconfig(),
  '/bad': kubeconfig('http://a', { user: { exec: { command: 'x' }, username: 'y' } }),
}

const read = (line: string) =>
  readTargetCommand(line === '' ? [] : line.split(' '), { file: (path) => FILES[path] ?? null })

const objectsIn = (text: string): readonly Manifest[] =>
  parseAllDocuments(text).map((document) => document.toJS() as Manifest)

/** The objects that a command line prints. */
function printed(line: string): readonly Manifest[] {
  const { kind, text } = read(line)
  if (kind !== 'print') throw new Error(text)
  return objectsIn(text)
}

/** The objects of config/target, with the label that its kustomization adds. */
const shipped = (...files: readonly string[]): readonly Manifest[] =>
  files
    .flatMap((file) => objectsIn(readFileSync(join(CONFIG, 'target', file), 'utf8')))
    .map((object) => ({
      ...object,
      metadata: {
        ...object.metadata,
        labels: { 'app.kubernetes.io/name': 'management-operator-target' },
      },
    }))

describe('the Secret for the platform (9.5)', () => {
  const CLUSTER = { kind: 'Cluster', cluster: 'c1' }
  const ACCESS = { kind: 'kubeconfig', text: kubeconfig() }
  test.each([
    { line: '--name c1 --kubeconfig /good', name: 'cluster-c1', target: CLUSTER, access: ACCESS },
    {
      line: '--name c1 --kubeconfig /good --kind virtualcluster --project p',
      name: expect.stringMatching(/^virtualcluster-p-c1-[0-9a-f]{16}$/),
      target: { kind: 'ProjectVirtualCluster', project: 'p', virtualCluster: 'c1' },
      access: ACCESS,
    },
    {
      line: '--name s --kind space --project p --cluster c1 --namespace shop',
      name: expect.stringMatching(/^space-p-s-[0-9a-f]{16}$/),
      target: { kind: 'ProjectSpace', project: 'p', space: 's' },
      access: { kind: 'space', cluster: 'c1', namespace: 'shop' },
    },
  ])('is read as what was asked for: $line', ({ line, name, target, access }) => {
    const [secret] = printed(line)
    expect(secret?.metadata).toMatchObject({ name, namespace: 'platform-system-targets' })
    expect(definitionOf(secret as unknown as Secret, false)).toEqual({
      kind: 'valid',
      target,
      access,
    })
  })

  test('is in the namespace of the flag', () => {
    const line = '--name c1 --kubeconfig /good --target-namespace=t --side=platform'
    expect(printed(line).map(({ metadata }) => metadata.namespace)).toEqual(['t'])
  })

  test('has another name for each target, which an object can have', () => {
    const names = [
      ['c', 'a-b'],
      ['b-c', 'a'],
      ['a..b', 'p'],
      ['a.-b', 'p'],
      ['x'.repeat(253), 'y'.repeat(253)],
      ['x'.repeat(253), 'y'.repeat(252)],
    ].flatMap(([name, project]) =>
      ['space --cluster=c --namespace=n', 'virtualcluster --kubeconfig=/good'].map(
        (kind) => printed(`--name=${name} --project=${project} --kind ${kind}`)[0]?.metadata.name,
      ),
    )
    const clusters = ['a..b', 'a.b', 'x'.repeat(253)].map(
      (name) => printed(`--name=${name} --kubeconfig=/good`)[0]?.metadata.name,
    )
    const all = [...names, ...clusters]
    expect(new Set(all).size).toBe(all.length)
    for (const name of all)
      expect(name).toMatch(
        /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
      )
  })
})

/** The rules without the extras that only a direct endpoint sends (9.2), which must be there. */
function withoutTokenExtras(rules: unknown): unknown {
  const text = JSON.stringify(rules)
  const extras = ',"userextras/platform.sh/token-id","userextras/platform.sh/scope"'
  expect(text).toContain(extras)
  return JSON.parse(text.replace(extras, ''))
}

describe('the manifests for the target (9.5, 10.5)', () => {
  test.each([
    { flags: '', files: ['account.yaml', 'impersonation.yaml'] },
    {
      flags: ' --legacy-impersonation',
      files: ['account.yaml', 'legacy-impersonation/impersonation.yaml'],
    },
  ])('equal config/target: $files', ({ flags, files }) => {
    expect(printed(`--side=target${flags}`)).toEqual(shipped(...files))
    const both = printed(`--name c1 --kubeconfig /good${flags}`)
    expect(both.slice(1)).toEqual(shipped(...files))
    expect(printed(`--name c1 --kubeconfig /good --side=platform${flags}`)).toEqual([both[0]])
  })

  test.each([
    { target: 'impersonation.yaml', platform: 'rbac/gateway-impersonation.yaml' },
    {
      target: 'legacy-impersonation/impersonation.yaml',
      platform: 'components/legacy-impersonation/impersonation.yaml',
    },
  ])(
    'grant what the gateway has in the cluster of the platform, and the extras of a direct endpoint: $target',
    ({ target, platform }) => {
      const [ours] = objectsIn(readFileSync(join(CONFIG, platform), 'utf8'))
      expect(withoutTokenExtras(shipped(target)[0]?.['rules'])).toEqual(ours?.['rules'])
    },
  )
})

describe('refusals (8.1, 9.5)', () => {
  const NAME = 'must be at most 253 of a-z, 0-9, - and ., with a letter or digit at both ends'
  test.each([
    { line: '', says: '--name is required; --kubeconfig is required' },
    {
      line: '--name C1 --project p --kubeconfig /none --cluster x',
      says: `--kubeconfig: /none cannot be read; name ${NAME}; project is not for a cluster; --kubeconfig is required; cluster is not for a cluster`,
    },
    {
      line: '--name c1 --kubeconfig /bad',
      says: 'the kubeconfig is refused: clusters[0].cluster.server must be an https URL of host, port and path; users[0].user.exec names a program to run: a kubeconfig from a value holds its credential inline; users[0].user.username names an identity besides the credential: a kubeconfig from a value has a token or a client certificate',
    },
    {
      line: '--kind space --name s --kubeconfig /good',
      says: '--project is required; kubeconfig is not for a space; --cluster is required; --namespace is required',
    },
    {
      line: '--kind space --side target',
      says: 'a space has no account of its own: --side=target is for its cluster',
    },
    {
      line: '--kind node --side here',
      says: '--kind is "node", accepted is one of cluster, virtualcluster, space; --side is "here", accepted is one of both, platform, target',
    },
  ])('$line', ({ line, says }) => {
    expect(read(line)).toEqual({ kind: 'refuse', text: `management-operator target: ${says}\n` })
  })

  test('quote no value of the kubeconfig', () => {
    const planted = plantCanary('value')
    const text = kubeconfig(`http://${planted.secret}`, { user: { token: `${planted.secret} x` } })
    const said = readTargetCommand(['--name=c1', '--kubeconfig=/f'], { file: () => text })
    expect(said.kind).toBe('refuse')
    expect(findCanaries({ text: said.text }, [planted])).toEqual([])
  })

  test('exit with 2', async () => {
    const { code, stdout, stderr } = await runProgram(['target', '--name=c1'])
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: '',
      stderr: 'management-operator target: --kubeconfig is required\n',
    })
  })
})
