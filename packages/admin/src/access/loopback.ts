import type { AdminRequest } from '../http/admin-request.ts'

/** Returns whether an address is this machine: 127.0.0.0/8 or ::1, also as IPv4 in IPv6. */
export function isLoopback(address: string): boolean {
  const plain = address.toLowerCase().replace(/^::ffff:/, '')
  return plain === '::1' || /^127(?:\.\d{1,3}){3}$/.test(plain)
}

/**
 * Returns whether a request comes from this machine itself. A proxy makes every request loopback, so one that was forwarded is
 * not; nor is one whose Host header names another machine, which is how a page of another origin reaches a local server.
 */
export function isLocalRequest({ remoteAddress, headers }: AdminRequest): boolean {
  const forwarded = ['x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'forwarded', 'via']
  if (!isLoopback(remoteAddress) || forwarded.some((name) => headers[name] !== undefined)) return false
  const host = headers['host'] ?? headers[':authority']
  return host === undefined || isLocalHost(host)
}

function isLocalHost(host: string): boolean {
  const name = host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1')
  return name.toLowerCase() === 'localhost' || isLoopback(name)
}
