// Writes the program for the image: `node tools/bundle.ts <src> <folder>`.
import { resolve } from 'node:path'
import { bundleProgram } from './bundle/bundle.ts'

const [sources = '', into = ''] = process.argv.slice(2)
await bundleProgram(resolve(sources), resolve(into))
