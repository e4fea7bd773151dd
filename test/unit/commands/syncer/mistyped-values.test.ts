import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { runHere } from '../../../support/command-line.ts'

const home = mkdtempSync(join(tmpdir(), 'mistyped-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

function file(name: string, content: object): string {
  const path = join(home, name)
  writeFileSync(path, JSON.stringify(content))
  return path
}

test.each([
  {
    name: 'a number in a label',
    kind: 'services',
    object: { kind: 'Service', metadata: { labels: { app: 'web' } } },
    patch: { path: 'metadata.labels.app', expression: '5' },
    warns:
      'warning: sync.toHost.services.patches[0] expression gives a number, and the field must be text, as String(value) gives: what it patches is not written\n',
    says: 'at metadata.labels.app: it would be a number, and must be text, as String(value) gives',
  },
  {
    name: 'a value of a Secret that is not base64',
    kind: 'secrets',
    object: { kind: 'Secret', data: { a: 'eA==' } },
    patch: { path: 'data.a', expression: '"jdbc:" + atob(value)' },
    warns: '',
    says: 'at data.a: it would be text that is not base64, and must be base64, as btoa(text) gives',
  },
])(
  'try says what $name must be and exits with 1; validate warns where the syntax shows it (19.3)',
  async ({ kind, object, patch, warns, says }) => {
    const config = file(`${kind}.yaml`, { sync: { toHost: { [kind]: { patches: [patch] } } } })
    expect(await runHere(['syncer', 'validate', '--config', config])).toMatchObject({
      code: 0,
      stderr: warns,
    })
    const manifest = file(`${kind}-object.yaml`, object)
    const argv = ['syncer', 'try', '--config', config, '--object', manifest]
    expect(await runHere(argv)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `${warns}sync.toHost.${kind}.patches[0] ${says}\n`,
    })
  },
)
