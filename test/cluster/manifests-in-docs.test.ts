// The manifests on the README and on the pages of the kinds, and the examples of claims, are complete: the API server takes them
// as they stand.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ACCESS_KEYS, ACCESS_KEY_CLAIMS, CONFIGS, TOKENS } from '../../src/api/names.ts'
import type { NewObject } from '../../src/kube/client/client.ts'
import { pathOf } from '../../src/kube/client/client.ts'
import { sharedControlPlane } from '../support/control-plane.ts'
import { uniqueName } from '../support/object-builder.ts'

const ROOT = join(import.meta.dirname, '../..')
/** The first screen of a page. */
const FIRST_LINES = 40

const plane = await sharedControlPlane()

describe.each([
  { page: 'README.md', resource: ACCESS_KEYS },
  { page: 'docs/ownedaccesskey.md', resource: ACCESS_KEYS },
  { page: 'docs/directclusterendpointtoken.md', resource: TOKENS },
  { page: 'docs/claims.md', resource: ACCESS_KEY_CLAIMS, namespace: 'default' },
  { page: 'docs/config.md', resource: CONFIGS },
])('$page', ({ page, resource, namespace }) => {
  test('shows a manifest on its first screen, which the API server takes as it stands (1.2)', async () => {
    const start = readFileSync(join(ROOT, page), 'utf8')
      .split('\n')
      .slice(0, FIRST_LINES)
      .join('\n')
    const [, yaml = ''] = /```yaml\n([^]*?)```/.exec(start) ?? []
    const manifest = parse(yaml) as NewObject & { readonly metadata: { readonly name: string } }
    expect(manifest.kind).toBe(resource.kind)
    // Another name: the page's object may be there.
    const name = `${manifest.metadata.name}-on-a-page`
    const [place, metadata] = namespace ? [{ namespace }, { name, namespace }] : [{}, { name }]
    const query = '?dryRun=All&fieldValidation=Strict'
    const path = `${pathOf(resource, place)}${query}`
    const { code } = await plane.raw('POST', path, { ...manifest, metadata })
    expect(code).toBe(201)
  })
})

describe('the examples of claims', async () => {
  const folder = join(ROOT, 'docs/examples/claims')
  const namespace = uniqueName('docs')
  await plane.raw('POST', '/api/v1/namespaces', { metadata: { name: namespace } })

  test.each(readdirSync(folder))('%s is what the API server takes (28.1, 28.4)', async (file) => {
    const text = readFileSync(join(folder, file), 'utf8')
    // Their namespaces are another test's, or are not there.
    const input = text.replaceAll(/^( *)namespace: (?:web|argocd)$/gm, `$1namespace: ${namespace}`)
    const create = ['create', '--dry-run=server', '--validate=strict', '-f', '-']
    const { code, stdout, stderr } = await plane.kubectl(create, { input })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.match(/created \(server dry run\)/g)).toHaveLength(text.split('\n---\n').length)
  })
})
