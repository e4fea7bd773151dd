// The floor of a start: one list of all access keys, parsed. `node bench/peers/list.ts <kubeconfig>` prints `ready`, and
// keeps what it has read until it gets SIGTERM.
import { connect } from '../../src/kube/client/connection.ts'
import { systemClock } from '../../src/runtime/clock.ts'

const PATH = '/apis/management.platform.sh/v1/ownedaccesskeys'

const clock = systemClock()
const connection = await connect({ kind: 'files', paths: [process.argv[2] ?? ''] }, clock)
const { calls, headers } = await connection.open()
const answer = await calls.request({
  method: 'GET',
  path: `${connection.prefix}${PATH}`,
  headers,
})
const list: unknown = JSON.parse(await answer.body.text())
console.log('ready')
setInterval(() => list, 3_600_000)
