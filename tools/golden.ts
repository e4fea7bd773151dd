// Writes test/golden, the output of kustomize for config/. `make generate` runs it; the cluster tests compare.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { builtKubectl } from './control-plane/binaries.ts'
import { GOLDEN, GOLDEN_KUSTOMIZATIONS, goldenFile, goldenText } from './golden/manifests.ts'

const kubectl = builtKubectl()
if (kubectl === null) {
  console.log('skipped: test/golden, as kubectl is not built yet; `make run` builds it')
} else {
  const texts = await Promise.all(
    GOLDEN_KUSTOMIZATIONS.map(async (name) => [name, await goldenText(kubectl, name)] as const),
  )
  if (existsSync(GOLDEN)) rmSync(GOLDEN, { recursive: true })
  mkdirSync(GOLDEN)
  for (const [name, text] of texts) writeFileSync(join(GOLDEN, goldenFile(name)), text)
}
