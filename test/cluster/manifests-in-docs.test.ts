// The manifests on the README and on the pages of the kinds are complete: the API server takes them as they stand.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ACCESS_KEYS, CONFIGS, TOKENS } from '../../src/api/names.ts'
import type { NewObject } from '../../src/kube/client/client.ts'
import { pathOf } from '../../src/kube/client/client.ts'
import { sharedControlPlane } from '../support/control-plane.ts'

const ROOT = join(import.meta.dirname, '../..')
/** The first screen of a page. */
const FIRST_LINES = 40

const plane = await sharedControlPlane()

describe.each([
  { page: 'README.md', resource: ACCESS_KEYS },
  { page: 'docs/ownedaccesskey.md', resource: ACCESS_KEYS },
  { page: 'docs/directclusterendpointtoken.md', resource: TOKENS },
  { page: 'docs/config.md', resource: CONFIGS },
])('$page', ({ page, resource }) => {
  test('shows a manifest on its first screen, which the API server takes as it stands (1.2)', async () => {
    const start = readFileSync(join(ROOT, page), 'utf8')
      .split('\n')
      .slice(0, FIRST_LINES)
      .join('\n')
    const [, yaml = ''] = /```yaml\n([^]*?)```/.exec(start) ?? []
    const manifest = parse(yaml) as NewObject & { readonly metadata: { readonly name: string } }
    expect(manifest.kind).toBe(resource.kind)
    // Another name: the page's object may be there.
    const object = { ...manifest, metadata: { name: `${manifest.metadata.name}-on-a-page` } }
    const query = '?dryRun=All&fieldValidation=Strict'
    const { code } = await plane.raw('POST', `${pathOf(resource, {})}${query}`, object)
    expect(code).toBe(201)
  })
})
