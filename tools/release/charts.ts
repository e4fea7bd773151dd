// Packages of the charts. Helm writes the times of files into a package, so each file gets the time of the commit.
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { type ChartOrigin, withImage, withOrigin } from './chart-origin.ts'

/**
 * The package of a chart: its name and content. The same bytes for the same files and time.
 *
 * @param folder the path of the chart
 * @param timeSeconds time of the commit, in epoch seconds
 * @param origin what the package says about it, and its image
 * @throws Error when Helm fails, or is one that does not keep the times of files, as Helm 3
 */
export async function packagedChart(
  helm: string,
  folder: string,
  timeSeconds: number,
  origin: ChartOrigin,
): Promise<[name: string, content: Buffer]> {
  const work = await mkdtemp(join(tmpdir(), 'chart-'))
  try {
    const [copy, out] = [join(work, 'chart'), join(work, 'out')]
    await cp(folder, copy, { recursive: true })
    await rewrite(join(copy, 'Chart.yaml'), (text) => withOrigin(text, origin))
    await rewrite(join(copy, 'values.yaml'), (text) => withImage(text, origin.image))
    for (const path of await readdir(copy, { recursive: true }))
      await utimes(join(copy, path), timeSeconds, timeSeconds)
    await promisify(execFile)(helm, ['package', copy, '--destination', out])
    const [name] = await readdir(out)
    if (name === undefined) throw new Error(`helm package wrote nothing for ${folder}`)
    const content = await readFile(join(out, name))
    if (firstTimeSeconds(content) !== timeSeconds)
      throw new Error(
        `${helm} writes times of its own into a package, and so other bytes each time: set HELM to a Helm 4, or to nothing`,
      )
    return [name, content]
  } finally {
    await rm(work, { recursive: true })
  }
}

/** The time of the first file in a .tgz, in epoch seconds: twelve octal digits in the header of tar. */
const firstTimeSeconds = (archive: Buffer): number =>
  Number.parseInt(gunzipSync(archive).toString('latin1', 136, 148), 8)

async function rewrite(path: string, change: (text: string) => string): Promise<void> {
  await writeFile(path, change(await readFile(path, 'utf8')))
}
