import { describe, expect, test } from 'vitest'
import {
  parseStoreEndpoint,
  type ServerEndpoint,
} from '../../../../src/domain/settings/store-endpoint.ts'

const server = (fields: Partial<ServerEndpoint>): ServerEndpoint => ({
  kind: 'postgres',
  host: 'db.example.com',
  port: 5432,
  user: 'audit',
  password: 'pw',
  database: 'platform',
  tls: 'verify-full',
  rootCertificates: null,
  ...fields,
})

const mysql = (fields: Partial<ServerEndpoint> = {}): ServerEndpoint =>
  server({ kind: 'mysql', port: 3306, ...fields })

describe('an endpoint is read (22.3)', () => {
  test.each([
    { text: 'sqlite:///var/lib/audit.db', is: { kind: 'sqlite', file: '/var/lib/audit.db' } },
    { text: 'sqlite:///var/my%20audit.db', is: { kind: 'sqlite', file: '/var/my audit.db' } },
    { text: 'postgres://audit:pw@db.example.com/platform', is: server({}) },
    { text: 'postgresql://audit:pw@db.example.com:6432/platform', is: server({ port: 6432 }) },
    { text: 'postgres://audit@db.example.com/platform', is: server({ password: '' }) },
    {
      text: 'postgres://audit:p%40w%2F%25@db.example.com/platform',
      is: server({ password: 'p@w/%' }),
    },
    {
      text: 'postgres://audit:pw@db.example.com/platform?sslmode=disable',
      is: server({ tls: 'off' }),
    },
    {
      text: 'postgres://audit:pw@db.example.com/platform?sslmode=require&application_name=x',
      is: server({ tls: 'require' }),
    },
    {
      text: 'postgres://audit:pw@db.example.com/platform?sslmode=verify-ca&sslrootcert=/etc/ca.crt',
      is: server({ tls: 'verify-ca', rootCertificates: '/etc/ca.crt' }),
    },
    {
      text: 'postgres://audit:pw@localhost/platform',
      is: server({ host: 'localhost', tls: 'off' }),
    },
    {
      text: 'postgres://audit:pw@127.0.0.9/platform',
      is: server({ host: '127.0.0.9', tls: 'off' }),
    },
    { text: 'postgres://audit:pw@[::1]/platform', is: server({ host: '::1', tls: 'off' }) },
    {
      text: 'postgres://audit:pw@localhost/platform?sslmode=verify-full',
      is: server({ host: 'localhost' }),
    },
    { text: 'postgres://audit:pw@[2001:db8::1]/platform', is: server({ host: '2001:db8::1' }) },
    { text: 'mysql://audit:pw@db.example.com:3307/platform', is: mysql({ port: 3307 }) },
    { text: 'mysql://audit:pw@tcp(db.example.com:3307)/platform', is: mysql({ port: 3307 }) },
    {
      text: 'mysql://audit:p@w/#%zz:@tcp(db.example.com)/platform',
      is: mysql({ password: 'p@w/#%zz:' }),
    },
    {
      text: 'mysql://audit:pw@tcp(db.example.com)/platform?tls=skip-verify&parseTime=true',
      is: mysql({ tls: 'require' }),
    },
    {
      text: 'mysql://audit:pw@tcp(127.0.0.1)/platform',
      is: mysql({ host: '127.0.0.1', tls: 'off' }),
    },
    {
      text: 'mysql://audit:pw@tcp(127.0.0.1)/platform?tls=true',
      is: mysql({ host: '127.0.0.1' }),
    },
    { text: 'mysql://audit:pw@db.example.com/platform?tls=false', is: mysql({ tls: 'off' }) },
  ])('$text', ({ text, is }) => {
    expect(parseStoreEndpoint(text)).toEqual({ endpoint: is, fault: null })
  })
})

describe('a text that names no data store is a fault, which quotes nothing of it (22.3)', () => {
  test.each([
    { text: 'mongodb://u:secret@h/db', fault: 'is none of sqlite' },
    { text: 'secret', fault: 'is none of sqlite' },
    { text: 'host=db user=u password=secret', fault: 'is none of sqlite' },
    { text: 'u:secret@tcp(h:3306)/db', fault: 'is none of sqlite' },
    { text: 'Postgres://u:secret@h/db', fault: 'is none of sqlite' },
    { text: 'sqlite://secret.db', fault: 'names no absolute file' },
    { text: 'sqlite:///secret/', fault: 'names no absolute file' },
    { text: 'sqlite:///a/../secret', fault: 'names no absolute file' },
    { text: 'sqlite:///secret.db?mode=ro', fault: 'has parameters' },
    { text: 'postgres://u:secret@h', fault: 'has no database' },
    { text: 'postgres://u:secret@h/', fault: 'has no database' },
    { text: 'postgres://u:secret@h/a/b', fault: 'has no database' },
    { text: 'postgres://u:secret@/db', fault: 'is none of sqlite' },
    { text: 'postgres:///secret', fault: 'has no host' },
    { text: 'postgres://u:secret@h1,h2/db', fault: 'has no host, or more than one' },
    { text: 'postgres://h/secret', fault: 'has no user' },
    { text: 'postgres://u:secret%zz@h/db', fault: 'has a %' },
    { text: 'postgres://u:secret@h:0/db', fault: 'has port 0' },
    { text: 'postgres://u:secret@h:99999/db', fault: 'is none of sqlite' },
    { text: 'postgres://u:secret@h/db#x', fault: 'has a #' },
    { text: 'postgres://u:secret@h/db?sslmode=prefer', fault: 'has sslmode other than disable' },
    { text: 'postgres://u:secret@h/db?sslmode=', fault: 'has sslmode other than disable' },
    { text: 'postgres://u:secret@h/db?sslcert=/x', fault: 'has a parameter other than sslmode' },
    { text: 'postgres://u:secret@h/db?sslmode=require&sslmode=disable', fault: 'twice' },
    { text: 'postgres://u:secret@h/db?sslrootcert=ca.crt', fault: 'no absolute file' },
    { text: 'mysql://u:secret@tcp(h:3306)', fault: 'has no database' },
    { text: 'mysql://u:secret@unix(/s)/db', fault: 'has no host' },
    { text: 'mysql://u:secret@h/db?tls=preferred', fault: 'has tls other than false' },
    { text: 'mysql://u:sec\nret@h/db', fault: 'has a control character' },
  ])('$text', ({ text, fault }) => {
    const parsed = parseStoreEndpoint(text)
    expect(parsed.fault).toContain(fault)
    expect(parsed.fault).not.toContain('secret')
  })
})
