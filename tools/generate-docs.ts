// Fills the parts of docs/ that come from the program: what stands between `<!-- name -->` and
// `<!-- /name -->`. With --check it changes nothing and fails where a part is stale.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gatewayFlagsTable } from '../src/runtime/gateway-settings.ts'
import { managerFlagsTable } from '../src/runtime/settings.ts'
import { rulesMarkdown } from './rules.ts'

const DOCS = join(import.meta.dirname, '../docs')

const PARTS = [
  { file: 'operating.md', part: 'flags', text: managerFlagsTable() },
  { file: 'operating.md', part: 'gateway-flags', text: gatewayFlagsTable() },
  { file: 'contributing.md', part: 'rules', text: rulesMarkdown() },
]

const isCheck = process.argv.includes('--check')
for (const { file, part, text } of PARTS) {
  const path = join(DOCS, file)
  const before = readFileSync(path, 'utf8')
  const between = new RegExp(`(<!-- ${part} -->\n)[^]*?(<!-- /${part} -->)`)
  if (!between.test(before)) throw new Error(`${file} has no place for ${part}`)
  const after = before.replace(
    between,
    (_, open: string, close: string) => `${open}${text.trim()}\n${close}`,
  )
  if (after === before) continue
  if (isCheck) {
    console.error(`docs/${file}: ${part} is stale, run make generate`)
    process.exitCode = 1
  } else {
    writeFileSync(path, after)
    console.log(`docs/${file} written`)
  }
}
