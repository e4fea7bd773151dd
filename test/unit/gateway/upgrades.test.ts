// Upgrades from the socket of a client to that of an API server (contract 11.6, 13.2, 13.4; threats A7 to A9).
import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { answersIn } from './listening-server.ts'
import {
  EXEC,
  SPDY,
  WEBSOCKET,
  echoing,
  eventuallyPasses,
  head,
  readUntil,
  upgrading,
} from './upgrading-gateway.ts'

describe('an upgrade', () => {
  test.each([
    { name: 'a WebSocket', method: 'GET', headers: WEBSOCKET },
    { name: 'SPDY', method: 'POST', headers: SPDY },
  ])('an upgrade to $name joins both connections (13.2)', async ({ method, headers }) => {
    const { connect, upgraded, open } = await upgrading(
      echoing('X-Stream-Protocol-Version: v4\r\n'),
    )
    const socket = await connect()
    socket.write(`${head(method, EXEC, headers)}first bytes`)
    const text = await readUntil(socket, 'first bytes')
    expect(text).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/)
    expect(text).toMatch(/\r\nupgrade: (websocket|SPDY\/3\.1)\r\n/)
    expect(text).toContain('x-stream-protocol-version: v4\r\n')
    expect(text).toContain('x-platform-key-expires: ci used\r\n')
    expect(open).toEqual(['upgrade'])
    const [request] = upgraded
    expect(request?.headers).toMatchObject({
      'impersonate-user': 'ada',
      authorization: 'Bearer our-own',
    })
    socket.end()
    await once(socket, 'close')
    await eventuallyPasses('the place is free', async () => expect(open).toEqual([]))
  })

  test('passes the versions of SPDY apart, and no credential in a subprotocol (10.1; threats A7)', async () => {
    const { connect, upgraded } = await upgrading(echoing())
    for (const [method, headers] of [
      ['POST', SPDY],
      [
        'GET',
        [
          ...WEBSOCKET.slice(0, -1),
          'Sec-WebSocket-Protocol: v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.Z29vZA',
        ],
      ],
    ] as const) {
      const socket = await connect()
      socket.write(`${head(method, EXEC, headers)}x`)
      await readUntil(socket, '\r\n\r\nx')
      socket.destroy()
    }
    const sent = upgraded.map(({ rawHeaders }) =>
      rawHeaders.flatMap((name, at) =>
        at % 2 === 0 && /protocol/i.test(name) ? [`${name}: ${rawHeaders[at + 1]}`] : [],
      ),
    )
    expect(sent).toEqual([
      [
        'x-stream-protocol-version: v4.channel.k8s.io',
        'x-stream-protocol-version: v3.channel.k8s.io',
      ],
      ['sec-websocket-protocol: v5.channel.k8s.io'],
    ])
  })

  test.each([
    {
      name: '403',
      act: (socket: Duplex) =>
        socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno'),
    },
    {
      name: '302',
      act: (socket: Duplex) =>
        socket.write('HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n'),
    },
    {
      name: '200',
      act: (socket: Duplex) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'),
    },
    {
      name: '101 to another protocol',
      code: 502,
      act: (socket: Duplex) =>
        socket.write(
          'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n',
        ),
    },
    {
      name: '101 without a protocol (13.2)',
      code: 502,
      act: (socket: Duplex) => socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n'),
    },
    {
      name: '101 with a body and without a protocol (13.2)',
      code: 502,
      act: (socket: Duplex) =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nContent-Length: 2\r\n\r\nok'),
    },
    { name: 'the end of the connection', code: 504, act: (socket: Duplex) => socket.destroy() },
  ])(
    'that is answered by $name closes both connections (threats A9)',
    async ({ name, code, act }) => {
      const { say, upgraded, sockets, open } = await upgrading((_, socket) => void act(socket))
      const text = await say(
        `${head('POST', EXEC, SPDY)}${head('GET', '/kubernetes/management/api/v1/secrets', [])}`,
      )
      expect(answersIn(text).map((answer) => answer.code)).toEqual([code ?? Number(name)])
      expect(upgraded).toHaveLength(1)
      await eventuallyPasses('the connection to the API server is closed', async () =>
        expect([...sockets]).toEqual([]),
      )
      expect(open).toEqual([])
    },
  )

  test.each([
    { name: 'of another protocol', headers: ['Connection: Upgrade', 'Upgrade: h2c'] },
    { name: 'with a body', headers: [...SPDY, 'Content-Length: 3'], path: EXEC },
    {
      name: 'of an object',
      headers: WEBSOCKET,
      path: '/kubernetes/management/api/v1/namespaces/a/secrets/b',
    },
    {
      name: 'of a watch of keys',
      headers: WEBSOCKET,
      path: '/kubernetes/management/apis/management.platform.sh/v1/ownedaccesskeys?watch=1',
    },
    {
      name: 'of a watch of keys on another target',
      headers: WEBSOCKET,
      path: '/kubernetes/cluster/c/apis/management.platform.sh/v1/ownedaccesskeys?watch=1',
    },
  ])(
    '$name is refused before it reaches the API server (12.4, 13.2)',
    async ({ headers, path = EXEC }) => {
      const { say, upgraded } = await upgrading(echoing())
      expect(answersIn(await say(head('GET', path, headers)))).toMatchObject([{ code: 501 }])
      expect(upgraded).toEqual([])
    },
  )

  test('passes megabytes both ways unchanged (13.3)', async () => {
    const { connect } = await upgrading(echoing())
    const socket = await connect()
    socket.write(head('POST', EXEC, SPDY))
    await readUntil(socket, '\r\n\r\n')
    const sent = Buffer.alloc(4 * 1024 * 1024, 'bytes of a file ')
    const received: Buffer[] = []
    socket.on('data', (piece: Buffer) => received.push(piece))
    socket.end(sent)
    await once(socket, 'close')
    expect(Buffer.concat(received).equals(sent)).toBe(true)
  })
})

describe('a side that reads nothing holds the other back (13.3)', () => {
  const FLOOD = Buffer.alloc(1024 * 1024)
  const MOST = 64

  /** Writes megabytes until the socket is full, or MOST are written. @returns how many it took */
  async function flood(socket: Duplex): Promise<number> {
    let count = 0
    while (count < MOST) {
      count += 1
      if (socket.write(FLOOD)) continue
      const drained = once(socket, 'drain').then(() => true)
      const isFree = await Promise.race([drained, delay(500).then(() => false)])
      if (!isFree) return count
    }
    return count
  }

  test('the client', async () => {
    const written = Promise.withResolvers<number>()
    const { connect } = await upgrading((request, socket, first) => {
      echoing()(request, socket, first)
      socket.once('data', () => written.resolve(flood(socket)))
    })
    const socket = await connect()
    socket.write(`${head('POST', EXEC, SPDY)}x`)
    await readUntil(socket, '\r\n\r\n')
    socket.pause()
    expect(await written.promise).toBeLessThan(MOST)
  })

  test('the API server', async () => {
    const { connect, end } = await upgrading((request, socket) => {
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n\r\n`,
      )
      socket.pause()
    })
    const socket = await connect()
    socket.on('error', () => undefined)
    socket.write(head('POST', EXEC, SPDY))
    await readUntil(socket, '\r\n\r\n')
    expect(await flood(socket)).toBeLessThan(MOST)
    // The key ends it even so.
    end()
    socket.resume()
    await new Promise((resolve) => socket.once('close', resolve))
  })
})

describe('a tunnel', () => {
  const opened = async (method: string, headers: readonly string[]) => {
    const world = await upgrading(echoing())
    const socket = await world.connect()
    socket.write(
      `${head(method, '/kubernetes/cluster/c/api/v1/namespaces/a/pods/b/exec', headers)}\u0081\u0001x`,
      'latin1',
    )
    await readUntil(socket, '\u0081\u0001x')
    const received: Buffer[] = []
    socket.on('data', (piece: Buffer) => received.push(piece))
    return { ...world, socket, received }
  }

  test.each([
    { name: 'key', says: 'platform access key not found', end: 'end', cut: 'revoked' },
    {
      name: 'target',
      says: 'the target of the request was removed',
      end: 'endTarget',
      cut: 'target',
    },
  ] as const)(
    'over a WebSocket ends with close code 1008 when its $name ends (13.4)',
    async (row) => {
      const world = await opened('GET', WEBSOCKET)
      world[row.end]()
      await once(world.socket, 'close')
      const last = Buffer.concat(world.received)
      expect([...last.subarray(0, 1), ...last.subarray(2, 4)]).toEqual([0x88, 0x03, 0xf0])
      expect(last.subarray(4).toString()).toContain(row.says)
      expect(world.cuts).toEqual([row.cut])
      await eventuallyPasses('the connection to the API server is closed', async () =>
        expect([...world.sockets]).toEqual([]),
      )
    },
  )

  test('gets each frame in a TLS record of its own, as clients that look at their socket need (9.4)', async () => {
    const frames = [1, 2, 3, 4].map((length) =>
      Buffer.from([0x82, length, ...Buffer.alloc(length)]),
    )
    const { connect } = await upgrading((request, socket) => {
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n\r\n`,
      )
      socket.once('data', () => socket.write(Buffer.concat(frames)))
    })
    const socket = await connect()
    socket.write(head('GET', EXEC, WEBSOCKET))
    await readUntil(socket, '\r\n\r\n')
    const received: number[] = []
    socket.on('data', (piece: Buffer) => received.push(piece.length))
    socket.write('go')
    await eventuallyPasses('all frames have come', async () =>
      expect(received).toEqual(frames.map(({ length }) => length)),
    )
  })

  test('in the middle of a frame is cut without a close frame (13.4)', async () => {
    const world = await opened('GET', WEBSOCKET)
    world.socket.write(Buffer.from([0x82, 0x7d, 1, 2]))
    await eventuallyPasses('the half frame has come back', async () =>
      expect(Buffer.concat(world.received)).toHaveLength(4),
    )
    world.end()
    await once(world.socket, 'close')
    expect(Buffer.concat(world.received)).toHaveLength(4)
  })

  test('in the middle of a frame gets its close frame after the rest of that (13.4)', async () => {
    const rest = Promise.withResolvers<void>()
    const world = await upgrading((request, socket, first) => {
      echoing()(request, socket, first)
      // The first four of six bytes.
      socket.once('data', () => socket.write(Buffer.from([0x81, 4, 0x61, 0x62])))
      void rest.promise.then(() => socket.write('cd'))
    })
    const socket = await world.connect()
    socket.write(`${head('GET', EXEC, WEBSOCKET)}\u0081\u0001x`, 'latin1')
    await readUntil(socket, '\u0081\u0004ab')
    const received: Buffer[] = []
    socket.on('data', (piece: Buffer) => received.push(piece))
    world.end()
    rest.resolve()
    await once(socket, 'close')
    const last = Buffer.concat(received)
    expect(last.subarray(0, 2).toString()).toBe('cd')
    expect([...last.subarray(2, 3), ...last.subarray(4, 6)]).toEqual([0x88, 0x03, 0xf0])
  })

  test('over SPDY is cut on both sides when its key ends (13.4)', async () => {
    const world = await opened('POST', SPDY)
    world.end()
    await once(world.socket, 'close')
    expect(world.received).toEqual([])
    await eventuallyPasses('the connection to the API server is closed', async () =>
      expect([...world.sockets]).toEqual([]),
    )
    expect(world.open).toEqual([])
  })

  test('ends with the API server (13.2)', async () => {
    const world = await opened('POST', SPDY)
    for (const socket of world.sockets) socket.destroy()
    await once(world.socket, 'close')
    await eventuallyPasses('the place is free', async () => expect(world.open).toEqual([]))
  })

  test('ends on the API server when its client is gone (13.3)', async () => {
    const world = await opened('POST', SPDY)
    world.socket.destroy()
    await eventuallyPasses('the connection to the API server is closed', async () =>
      expect([...world.sockets]).toEqual([]),
    )
    expect(world.open).toEqual([])
  })
})
