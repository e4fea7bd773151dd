import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { foundBy } from '../../../tools/control-plane/found.ts'
import { ensureHelm } from '../../../tools/helm/program.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'no-helm-'))
  symlinkSync('/bin/sh', join(folder, 'sh'))
  const env = { PATH: folder, XDG_CACHE_HOME: join(folder, 'cache'), HELM: '', CI: '' }
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

/** A machine on which Go says so. */
function withGo(script: string): void {
  writeFileSync(join(folder, 'go'), `#!/bin/sh\n${script}\n`)
  chmodSync(join(folder, 'go'), 0o755)
}

const WAYS_OUT =
  'Either install Go 1.26.0 or newer (https://go.dev/dl), or set HELM to the program.'
const UNREACHABLE = 'echo "dial tcp: lookup proxy.example.com: no such host" >&2; exit 1'

describe('a machine without Helm', () => {
  test.each([
    {
      name: 'without Go',
      go: null,
      reason: `Helm has to be built once, and Go is not on PATH. ${WAYS_OUT}`,
    },
    {
      name: 'with an old Go',
      go: 'echo go1.25.4',
      reason: `Helm has to be built once, and go1.25.4 is too old for it. ${WAYS_OUT}`,
    },
    {
      name: 'whose Go reaches no modules',
      go: `[ "$1" = env ] && { echo go1.26.8; exit; }; ${UNREACHABLE}`,
      reason:
        'Helm has to be built once, and Go fails here. Either mend what it says, such as its way to the Go modules (GOPROXY), or set HELM to the program.',
    },
  ])('$name skips its tests with the ways out', async ({ go, reason }) => {
    if (go !== null) withGo(go)
    expect(await foundBy(ensureHelm, () => {})).toEqual({ path: null, reason })
  })

  test('logs what Go says', async () => {
    withGo(`[ "$1" = env ] && { echo go1.26.8; exit; }; ${UNREACHABLE}`)
    const lines: string[] = []
    await foundBy(ensureHelm, (line) => lines.push(line))
    expect(lines.at(-1)).toBe(
      'go build of helm failed (1):\ndial tcp: lookup proxy.example.com: no such host',
    )
  })

  test('skips nothing where CI is set', async () => {
    vi.stubEnv('CI', '1')
    await expect(foundBy(ensureHelm, () => {})).rejects.toThrow('Go is not on PATH')
  })

  test('takes the program that HELM names', async () => {
    vi.stubEnv('HELM', '/opt/helm')
    expect(await foundBy(ensureHelm, () => {})).toEqual({ path: '/opt/helm' })
  })
})
