// Runs in a container: a DNS server that answers every query with the same address.
import { createSocket } from 'node:dgram'

const HEADER_BYTES = 12
const ADDRESS = Buffer.from([192, 0, 2, 53])
/** An A record with a pointer to the name in the question and a TTL of a second. */
const ANSWER = Buffer.from([0xc0, HEADER_BYTES, 0, 1, 0, 1, 0, 0, 0, 1, 0, ADDRESS.length])
/** A successful response with one question and one answer. */
const FLAGS_AND_COUNTS = Buffer.from([0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0])

const socket = createSocket('udp4')
socket.on('message', (query, { port, address }) => {
  const questionEnd = query.indexOf(0, HEADER_BYTES) + 5
  const question = query.subarray(HEADER_BYTES, questionEnd)
  const id = query.subarray(0, 2)
  socket.send(Buffer.concat([id, FLAGS_AND_COUNTS, question, ANSWER, ADDRESS]), port, address)
})
socket.bind(53, () => console.log('listening'))
