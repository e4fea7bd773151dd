// Writes src/ as JavaScript, for the image: `node tools/strip-types.ts src <folder>`. Node would do the same at each start,
// by a compiler that stays in memory.
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'

/** A path of a source file in the sources: of an import, or of the program of a worker. */
const SOURCE_PATH = /(?<=(['"])\.{1,2}\/[^'"\n]*)\.ts(?=\1)/g

const [from = '', to = ''] = process.argv.slice(2)
cpSync(from, to, { recursive: true })
for (const path of globSync('**/*.ts', { cwd: to })) {
  const file = join(to, path)
  // Types become spaces, so that stack traces have the lines and columns of the sources.
  const text = stripTypeScriptTypes(readFileSync(file, 'utf8'))
  writeFileSync(file.replace(/\.ts$/, '.js'), text.replaceAll(SOURCE_PATH, '.js'))
  rmSync(file)
}
