// Runs in a container: a name server that knows one address, whatever name is asked for.
import { createSocket } from 'node:dgram'

const HEADER_BYTES = 12
const ADDRESS = Buffer.from([192, 0, 2, 53])
/** The name of the question once more, an address of the internet, for a second. */
const ANSWER = Buffer.from([0xc0, HEADER_BYTES, 0, 1, 0, 1, 0, 0, 0, 1, 0, ADDRESS.length])
/** An answer without an error, to one question, with one record. */
const FLAGS_AND_COUNTS = Buffer.from([0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0])

const socket = createSocket('udp4')
socket.on('message', (asked, { port, address }) => {
  const questionEnd = asked.indexOf(0, HEADER_BYTES) + 5
  const question = asked.subarray(HEADER_BYTES, questionEnd)
  const id = asked.subarray(0, 2)
  socket.send(Buffer.concat([id, FLAGS_AND_COUNTS, question, ANSWER, ADDRESS]), port, address)
})
socket.bind(53, () => console.log('listening'))
