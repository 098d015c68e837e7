import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { linkFiles } from '../download.ts'
import { findJava } from '../java.ts'
import { describeCluster } from '../kafka/describe-cluster.ts'
import { hasJars, jarFolder, kafkaVersion, provideJars } from '../kafka/jars.ts'
import { type KafkaNode, serverProperties } from '../kafka/server-properties.ts'
import { findFreePort, loopback } from '../port.ts'
import { plainEnvironment, run } from '../process/executable.ts'
import type { ProcessPlan } from '../process/service-process.ts'
import { asUser, handOver, serverUser } from '../process/system-user.ts'
import { type Answer, obstacleTo, reasonOf, ServiceError } from '../service.ts'
import { type Launch, type LaunchRequest, probeTimeoutMs, type ServiceKind } from './service-kind.ts'

const title = 'Apache Kafka'
const kafkaUser = () => serverUser(title, 'kafka')

/** Apache Kafka from its Maven artifacts, on the machine's own Java. */
export const kafka: ServiceKind = {
  title,
  variable: 'KAFKA_BOOTSTRAP',
  usualPort: 9092,
  urlAt: (port) => `${loopback}:${port}`,
  probe: probeBootstrap,
  async findObstacle() {
    const noJava = await obstacleTo(() => findJava(title, kafkaUser))
    if (noJava !== undefined) return noJava
    return (await hasJars())
      ? undefined
      : `Kafka ${kafkaVersion} is not downloaded yet. \`npm run services up\` does it (${jarFolder()}).`
  },
  prepare,
}

/** Returns the response of the first broker in the list that gives one. */
async function probeBootstrap(bootstrap: string): Promise<Answer> {
  const refusals: string[] = []
  for (const address of bootstrap.split(',').map((part) => part.trim())) {
    try {
      return await probeBroker(address)
    } catch (error) {
      refusals.push(reasonOf(error))
    }
  }
  throw new ServiceError(refusals.join('; '))
}

async function probeBroker(address: string): Promise<Answer> {
  const [, host, port] = /^\[?([^\]]+?)\]?:(\d+)$/.exec(address) ?? []
  if (host === undefined || port === undefined)
    throw new ServiceError(`"${address}" is not a broker address.`, `Write host:port, as in ${loopback}:9092.`)
  const { brokers, controllerId, release } = await describeCluster(host, Number(port), probeTimeoutMs)
  if (brokers.length === 0 || controllerId < 0)
    throw new ServiceError('The broker responds but has not joined a cluster yet.')
  return { version: release, brokers: brokers.length }
}

async function prepare(request: LaunchRequest): Promise<Launch> {
  const { folder, brokers, progress } = request
  const java = await findJava(title, kafkaUser)
  const user = await kafkaUser()
  const jars = await provideJars(progress)
  await handOver(folder, user)
  const classPath = join(user === undefined ? jars : await linkFiles(jars, join(folder, 'jars')), '*')
  const nodes = await layOut(request)
  progress(`formatting the storage of ${brokers === 1 ? 'one broker' : `${brokers} brokers`}`)
  const clusterId = randomBytes(16).toString('base64url').replace(/^-/, 'A') // A leading dash would be an option.
  const processes = await Promise.all(
    nodes.map(async (node): Promise<ProcessPlan> => {
      await mkdir(node.folder, { recursive: true })
      await handOver(node.folder, user)
      const properties = join(node.folder, 'server.properties')
      await writeFile(properties, serverProperties(node, nodes))
      const tool = ['kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', properties]
      await run(java, [...jvm, '-XX:TieredStopAtLevel=1', '-cp', classPath, ...tool], {
        folder: node.folder,
        environment: plainEnvironment(),
        ...asUser(user),
      })
      return {
        label: brokers === 1 ? title : `${title} broker ${node.id}`,
        command: java,
        args: [...jvm, '-cp', classPath, 'kafka.Kafka', properties],
        folder,
        logFile: node.id === 1 ? request.logFile : request.logFile.replace(/\.log$/, `-${node.id}.log`),
        environment: plainEnvironment(),
        ...asUser(user),
        stopSignal: 'SIGTERM',
        probe: () => probeJoined(node),
      }
    }),
  )
  return {
    url: nodes.map(({ port }) => `${loopback}:${port}`).join(','),
    answer: { version: kafkaVersion, brokers },
    processes,
  }
}

/** Checks that a broker is a member of the cluster it describes: until then its metadata is incomplete. */
async function probeJoined({ id, port }: KafkaNode): Promise<Answer> {
  const { brokers, release } = await describeCluster(loopback, port, probeTimeoutMs)
  if (!brokers.some(({ nodeId }) => nodeId === id))
    throw new ServiceError(`Broker ${id} has not joined its cluster yet.`)
  return { version: release, brokers: brokers.length }
}

async function layOut({ folder, port, brokers }: LaunchRequest): Promise<KafkaNode[]> {
  const taken = new Set([port])
  const another = async (): Promise<number> => {
    for (;;) {
      const free = await findFreePort()
      if (taken.has(free)) continue
      taken.add(free)
      return free
    }
  }
  const nodes: KafkaNode[] = []
  for (let id = 1; id <= brokers; id++) {
    const own = id === 1 ? port : await another()
    nodes.push({ id, port: own, controllerPort: await another(), folder: join(folder, `broker-${id}`) })
  }
  return nodes
}

/** A small heap for a broker that tests load with kilobytes, and warnings only in its log. */
const jvm = [
  '-Xms128m',
  '-Xmx512m',
  '-XX:+UseSerialGC',
  '-Xshare:auto',
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
  '-Dorg.slf4j.simpleLogger.showDateTime=true',
  "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSZ",
]
