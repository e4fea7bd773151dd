// Loaded into a program by `node --import`: os.hostname() is what HOSTNAME_OF_TEST holds, as in a pod of that name.
import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'

const name = process.env['HOSTNAME_OF_TEST']
if (name === undefined) throw new Error('HOSTNAME_OF_TEST is not set')
os.hostname = () => name
syncBuiltinESMExports()
