// docs/claims.md has every reason, Event and place of a template, each example as it is in docs/examples/claims, and each
// example is delivered in the form that its reader expects.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import type { AccessKeyClaim } from '../src/api/accesskeyclaim.gen.ts'
import { ACCESS_KEY_CLAIMS } from '../src/api/names.ts'
import { REASONS } from '../src/api/reasons.ts'
import { NORMAL_REASONS } from '../src/delivery/claims/announce.ts'
import { claimOf } from '../src/domain/claim/claim.ts'
import { renderData, serverUrl } from '../src/domain/claim/template.ts'
import { parseYaml } from '../src/runtime/yaml.ts'
import { claimObject } from './support/object-builder.ts'

const ROOT = join(import.meta.dirname, '..')
const EXAMPLES = 'docs/examples/claims'
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const PAGE = textOf('docs/claims.md')

/** A section of the page, without its heading. */
const sectionOf = (heading: string): string =>
  PAGE.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''

/** The names in the first cells of the table of a section. */
const namesIn = (section: string): readonly string[] =>
  Array.from(section.matchAll(/^\| `([^`]+)` \|/gm), ([, name = '']) => name)

describe('docs/claims.md', () => {
  test('has each reason of a claim that is not ready, in their order (28.7)', () => {
    const section = sectionOf('Conditions')
    expect(['Delivered', ...namesIn(section)]).toEqual(REASONS.claimReady)
  })

  test('links each reason to what troubleshooting says about it (28.7)', () => {
    const rows = sectionOf('Conditions').matchAll(/^\| `(\w+)` \| \[.*\]\(.*#(\w+)\) \|$/gm)
    const linked = Array.from(rows, ([, reason = '', anchor]) => [reason.toLowerCase(), anchor])
    expect(linked).toHaveLength(REASONS.claimReady.length - 1)
    expect(linked.filter(([reason, anchor]) => reason !== anchor)).toEqual([])
  })

  test('has each Event of a claim (28.7)', () => {
    const [, events = ''] = sectionOf('Conditions').split('Events are')
    const named = Array.from(events.matchAll(/`(\w+)`/g), ([, name]) => name)
    expect(named.slice(0, NORMAL_REASONS.length)).toEqual(NORMAL_REASONS)
    const [first, last] = ['Delivered', 'RotationFailed'].map((name) =>
      REASONS.events.findIndex((reason) => reason === name),
    )
    expect(named).toEqual(REASONS.events.slice(first, (last ?? 0) + 1))
  })

  test('has each place of a template, as the schema names them (28.4)', () => {
    const crd = textOf('crds/accesskeyclaims.yaml')
    const [, places = ''] = /in data, \$ begins one of (.*) and/.exec(crd) ?? []
    const inSchema = ['$(TOKEN)', '$(KUBECONFIG)', ...places.split(', ')]
    expect(namesIn(sectionOf('Formats')).toSorted()).toEqual(inSchema.toSorted())
  })
})

type Example = AccessKeyClaim & Required<Pick<AccessKeyClaim, 'spec'>>

const files = readdirSync(join(ROOT, EXAMPLES)).toSorted()
const objects = files.flatMap((file) =>
  parseAllDocuments(textOf(`${EXAMPLES}/${file}`)).map((document) => document.toJS() as Example),
)
const claims = objects.filter(({ kind }) => kind === ACCESS_KEY_CLAIMS.kind)

describe('the examples of claims', () => {
  test.each(files.filter((file) => file !== 'deployment.yaml'))(
    'docs/claims.md shows %s as it is (28.1)',
    (file) => {
      expect(PAGE).toContain(`\n${textOf(`${EXAMPLES}/${file}`)}`)
    },
  )

  test('the Deployment mounts the Secret of the first claim, where its KUBECONFIG is (28.4)', () => {
    const { spec } = parse(textOf(`${EXAMPLES}/deployment.yaml`))
    const [volume] = spec.template.spec.volumes
    const [{ env, volumeMounts }] = spec.template.spec.containers
    expect(volume.secret.secretName).toBe('reporter')
    expect(volumeMounts[0]).toMatchObject({ name: volume.name, readOnly: true })
    expect(env[0].value).toBe(`${volumeMounts[0].mountPath}/kubeconfig`)
  })

  const PEM = '-----BEGIN CERTIFICATE-----\nTUlJ\n-----END CERTIFICATE-----\n'
  const [KEY, CA] = ['pak_secret', Buffer.from(PEM).toString('base64')]

  /** The Secret of an example as its reader sees it, with the key KEY. */
  function delivered(name: string): Readonly<Record<string, string>> {
    const found = claims.find(({ metadata }) => metadata.name === name)
    if (found === undefined) throw new Error(`there is no example ${name}`)
    const { secret } = claimOf(claimObject({ metadata: found.metadata, spec: found.spec }))
    const url = serverUrl('https://platform.example.com', secret.target)
    const values = { credential: KEY, keyID: '0123456789abcdef', expires: '2026-12-21T10:00:00Z' }
    return renderData(secret, { ...values, server: { url, ca: PEM } })
  }

  test('are all named in the tests of their forms', () => {
    const names = claims.map(({ metadata }) => metadata.name)
    expect(names.toSorted()).toEqual(FORMS.map(({ name }) => name).toSorted())
  })

  const MANAGEMENT = 'https://platform.example.com/kubernetes/management'
  const FORMS: readonly { readonly name: string; readonly is: object }[] = [
    {
      name: 'reporter',
      is: {
        key: KEY,
        kubeconfig: expect.objectContaining({
          users: [{ name: 'platform', user: { token: KEY } }],
          'current-context': 'platform',
        }),
      },
    },
    {
      name: 'watcher',
      is: {
        key: KEY,
        kubeconfig: {
          apiVersion: 'v1',
          kind: 'Config',
          clusters: [
            {
              name: 'platform',
              cluster: { server: MANAGEMENT, 'certificate-authority-data': CA },
            },
          ],
          users: [{ name: 'platform', user: { tokenFile: 'key' } }],
          contexts: [{ name: 'platform', context: { cluster: 'platform', user: 'platform' } }],
          'current-context': 'platform',
        },
      },
    },
    {
      name: 'blue',
      is: {
        name: 'blue',
        server: 'https://platform.example.com/kubernetes/cluster/blue',
        config: { bearerToken: KEY, tlsClientConfig: { caData: CA } },
      },
    },
    { name: 'script', is: { header: { Authorization: `Bearer ${KEY}` }, server: MANAGEMENT } },
    {
      name: 'registry',
      is: {
        '.dockerconfigjson': {
          auths: { 'registry.example.com': { username: 'claim', password: KEY } },
        },
      },
    },
    {
      name: 'netrc',
      is: { '.netrc': `machine packages.example.com login claim password ${KEY}` },
    },
    { name: 'git', is: { '.git-credentials': `https://claim:${KEY}@git.example.com` } },
    { name: 'flux-source', is: { username: 'claim', password: KEY } },
    {
      name: 'direct',
      is: { token: KEY, server: 'https://direct.blue.example.com/kubernetes/cluster' },
    },
  ]

  test.each(FORMS)('$name is delivered in the form that its reader expects (28.4)', (form) => {
    const texts = Object.entries(delivered(form.name))
    const read = texts.map(([entry, text]) => [
      entry,
      text.startsWith('{') ? JSON.parse(text) : parseYaml(text),
    ])
    expect(Object.fromEntries(read)).toEqual(form.is)
  })
})
