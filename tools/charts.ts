// Writes what the charts have from elsewhere: files from config/, the schema of `config` from crds/, shared templates, and
// the tables of values. `make generate` runs it; the cluster tests compare.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { AGENT, CHARTS, chartFiles, PLATFORM } from './charts/files.ts'
import { generatedValues } from './charts/values.ts'
import { builtKubectl } from './control-plane/binaries.ts'

const kubectl = builtKubectl()
if (kubectl === null) {
  console.log('skipped: files of charts, as kubectl is not built yet; `make run` builds it')
} else {
  const files = await chartFiles(kubectl)
  for (const chart of [PLATFORM, AGENT])
    rmSync(join(CHARTS, chart, 'files'), { recursive: true, force: true })
  write(files)
}
write(generatedValues())

function write(files: ReadonlyMap<string, string>): void {
  for (const [name, text] of files) {
    const path = join(CHARTS, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
}
