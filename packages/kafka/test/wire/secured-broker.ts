/** Turns a private broker into one with TLS, logins and ACLs, and makes the keys for it. */

import type { Buffer } from 'node:buffer'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Admin, alterUserScramCredentialsV0, saslScramSha } from '@platformatic/kafka'
import type { NodeAddress } from '@waybill/kafka/wire'
import type { PrivateService } from '@waybill/services'
import { openBrokerSocket } from '../../src/wire/broker-socket.ts'
import { brokerAt } from './broker-at.ts'

const run = promisify(execFile)
const storePassword = 'store-password'

/** Who may log in. */
export const user = { name: 'alice', password: 'alice-and-her, secret=1' } as const
/** How long a login lasts on the listener with TLS. */
export const sessionLifetimeMs = 60_000

const listenerNames = ['SASL_PLAINTEXT', 'SASL_SSL', 'SSL'] as const
type ListenerName = (typeof listenerNames)[number]

export interface SecuredBroker {
  readonly listeners: Readonly<Record<'PLAINTEXT' | ListenerName, NodeAddress>>
  /** The certificate of the broker, which signed itself. */
  readonly ca: string
  /** A client's key and certificate that the listener SSL asks for. */
  readonly client: { readonly pfx: Buffer; readonly passphrase: string }
}

/** Restarts the broker with listeners for TLS and logins, and with ACLs that let {@link user} use {@link allowedPrefix}. */
export async function secure(service: PrivateService): Promise<SecuredBroker> {
  const folder = dirname(service.logFile)
  const plaintext = brokerAt([service.url])
  const [broker, client] = await Promise.all([makeKeys(folder, 'broker'), makeKeys(folder, 'client')])
  await run('keytool', [
    ...'-importcert -noprompt -alias client -storetype PKCS12 -keystore'.split(' '),
    join(folder, 'trust.p12'),
    '-storepass',
    storePassword,
    '-file',
    client.certificateFile,
  ])
  const ports = await freePorts(listenerNames.length)
  const listeners = Object.fromEntries(
    listenerNames.map((name, index) => [name, { host: plaintext.host, port: ports[index] ?? 0 }]),
  ) as Record<ListenerName, NodeAddress>
  await service.stop()
  const file = join(folder, 'broker-1', 'server.properties')
  await writeFile(file, withSecurity(await readFile(file, 'utf8'), listeners, folder))
  await service.start()
  await createScramUsers(plaintext)
  await allowUser(service.url)
  return {
    listeners: { ...listeners, PLAINTEXT: plaintext },
    ca: await readFile(broker.certificateFile, 'utf8'),
    client: { pfx: await readFile(client.storeFile), passphrase: storePassword },
  }
}

/** What the user may use: topics, groups and transactional ids that begin so. */
export const allowedPrefix = 'allowed.'

function withSecurity(
  properties: string,
  listeners: Readonly<Record<ListenerName, NodeAddress>>,
  folder: string,
): string {
  const urls = listenerNames.map((name) => `,${name}://${listeners[name].host}:${listeners[name].port}`).join('')
  const map = listenerNames.map((name) => `,${name}:${name}`).join('')
  const login = 'org.apache.kafka.common.security'
  const modules = {
    plain: `${login}.plain.PlainLoginModule required user_${user.name}="${user.password}";`,
    'scram-sha-256': `${login}.scram.ScramLoginModule required;`,
    'scram-sha-512': `${login}.scram.ScramLoginModule required;`,
    oauthbearer: `${login}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";`,
  }
  const jaas = ['sasl_plaintext', 'sasl_ssl'].flatMap((listener) =>
    Object.entries(modules).map(
      ([mechanism, module]) => `listener.name.${listener}.${mechanism}.sasl.jaas.config=${module}`,
    ),
  )
  return [
    properties
      .replaceAll(/^((?:advertised\.)?listeners=.*)$/gm, `$1${urls}`)
      .replace(/^(listener\.security\.protocol\.map=.*)$/m, `$1${map}`),
    'sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER',
    ...jaas,
    `listener.name.sasl_ssl.connections.max.reauth.ms=${sessionLifetimeMs}`,
    'ssl.keystore.type=PKCS12',
    `ssl.keystore.location=${join(folder, 'broker.p12')}`,
    `ssl.keystore.password=${storePassword}`,
    `ssl.key.password=${storePassword}`,
    'ssl.truststore.type=PKCS12',
    `ssl.truststore.location=${join(folder, 'trust.p12')}`,
    `ssl.truststore.password=${storePassword}`,
    'listener.name.ssl.ssl.client.auth=required',
    'authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users=User:ANONYMOUS',
    '',
  ].join('\n')
}

async function makeKeys(
  folder: string,
  name: string,
): Promise<{ readonly storeFile: string; readonly certificateFile: string }> {
  const storeFile = join(folder, `${name}.p12`)
  const certificateFile = join(folder, `${name}.pem`)
  const store = ['-alias', name, '-storetype', 'PKCS12', '-keystore', storeFile, '-storepass', storePassword]
  await run('keytool', [
    ...'-genkeypair -keyalg EC -groupname secp256r1 -validity 2 -ext SAN=ip:127.0.0.1'.split(' '),
    '-dname',
    `CN=${name}`,
    ...store,
  ])
  await run('keytool', ['-exportcert', '-rfc', '-file', certificateFile, ...store])
  return { storeFile, certificateFile }
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1')
      await once(server, 'listening')
      return server
    }),
  )
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  for (const server of servers) server.close()
  return ports
}

async function createScramUsers(node: NodeAddress): Promise<void> {
  const socket = await openBrokerSocket(node, {
    clientId: 'setup',
    tls: false,
    maxResponseBytes: 2 ** 20,
    signal: undefined,
  })
  // One by one: a request may name a user once.
  for (const [mechanism, algorithm] of [
    [1, 'SHA-256'],
    [2, 'SHA-512'],
  ] as const) {
    const [salt, iterations] = [randomBytes(16), 4_096]
    const hash = saslScramSha.ScramAlgorithms[algorithm]
    const saltedPassword = await saslScramSha.hi(hash, user.password, salt, iterations)
    const reader = await socket.request({
      what: 'AlterUserScramCredentials',
      apiKey: alterUserScramCredentialsV0.api.key,
      apiVersion: alterUserScramCredentialsV0.api.version,
      isFlexible: true,
      body: alterUserScramCredentialsV0.createRequest(
        [],
        [{ name: user.name, mechanism, iterations, salt, saltedPassword }],
      ),
    })
    reader.skipTags()
    reader.int32()
    const [code] = reader.structs(() => {
      reader.text()
      const result = reader.int16()
      reader.nullableText()
      return result
    })
    if (code !== 0) throw new Error(`The user could not be made: ${code}`)
  }
  socket.close()
}

async function allowUser(bootstrap: string): Promise<void> {
  const admin = new Admin({ clientId: 'setup', bootstrapBrokers: [bootstrap], retries: 5, retryDelay: 200 })
  const [topic, group, transactionalId] = [2, 3, 5] as const
  const [prefixed, all, allow] = [4, 2, 3] as const
  await admin.createAcls({
    creations: [topic, group, transactionalId].map((resourceType) => ({
      resourceType,
      resourceName: allowedPrefix,
      resourcePatternType: prefixed,
      principal: `User:${user.name}`,
      host: '*',
      operation: all,
      permissionType: allow,
    })),
  })
  await admin.close()
}
