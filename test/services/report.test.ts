import { describeReports, type ServiceReport, toJsonLines, withoutPassword } from '@waybill/services'
import { expect, test } from 'vitest'

const reports: readonly ServiceReport[] = [
  {
    service: 'kafka',
    state: 'STARTED',
    url: '127.0.0.1:9092,127.0.0.1:21000',
    answer: { version: '4.3.1', brokers: 2 },
    record: {
      url: '127.0.0.1:9092,127.0.0.1:21000',
      version: '4.3.1',
      folder: '/tmp/x',
      processes: [
        { pid: 1, startedAt: 'a', stopSignal: 'SIGTERM', logFile: '/log/kafka.log' },
        { pid: 2, startedAt: 'b', stopSignal: 'SIGTERM', logFile: '/log/kafka-2.log' },
      ],
    },
  },
  {
    service: 'postgres',
    state: 'FOUND',
    url: 'postgres://me:secret@db:5432/app',
    answer: { version: '16.1' },
    isNamed: true,
  },
  { service: 'mysql', state: 'ABSENT', reason: 'nothing listens on port 3306' },
  { service: 'redis', state: 'FOUND', url: 'redis://127.0.0.1:6379', answer: { version: '7.0.15' }, isNamed: false },
]

test('the table says what runs where, and which lines to export', () => {
  expect(describeReports(reports)).toBe(`\
kafka     started  127.0.0.1:9092,127.0.0.1:21000  4.3.1, 2 brokers  pid 1, 2  log /log/kafka.log, /log/kafka-2.log
postgres  found    postgres://me:***@db:5432/app  16.1
mysql     absent   nothing listens on port 3306
redis     found    redis://127.0.0.1:6379  7.0.15

export KAFKA_BOOTSTRAP=127.0.0.1:9092,127.0.0.1:21000
export REDIS_URL=redis://127.0.0.1:6379
`)
})

test('a service that is there but not what was asked for is not called absent', () => {
  const unsuitable: ServiceReport = { service: 'kafka', state: 'UNSUITABLE', url: 'a:1', reason: 'it has 1 broker.' }
  expect(describeReports([unsuitable])).toBe('kafka  unsuitable  a:1  it has 1 broker.\n')
  expect(JSON.parse(toJsonLines([unsuitable]))).toMatchObject({ state: 'UNSUITABLE', url: 'a:1' })
})

test('for machines every line is one object', () => {
  const lines = toJsonLines(reports).trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    {
      service: 'kafka',
      state: 'STARTED',
      variable: 'KAFKA_BOOTSTRAP',
      url: '127.0.0.1:9092,127.0.0.1:21000',
      version: '4.3.1',
      brokers: 2,
      pids: [1, 2],
      logFiles: ['/log/kafka.log', '/log/kafka-2.log'],
    },
    {
      service: 'postgres',
      state: 'FOUND',
      variable: 'DATABASE_URL',
      url: 'postgres://me:***@db:5432/app',
      version: '16.1',
    },
    { service: 'mysql', state: 'ABSENT', variable: 'MYSQL_URL', reason: 'nothing listens on port 3306' },
    { service: 'redis', state: 'FOUND', variable: 'REDIS_URL', url: 'redis://127.0.0.1:6379', version: '7.0.15' },
  ])
})

test('after `down` it says what was stopped and what was left alone, and exports nothing', () => {
  expect(
    describeReports([
      { service: 'kafka', state: 'STOPPED', url: '127.0.0.1:9092' },
      { service: 'redis', state: 'LEFT_ALONE', reason: 'it was not started here' },
    ]),
  ).toBe('kafka  stopped     127.0.0.1:9092\nredis  left alone  it was not started here\n')
})

test.each([
  ['postgres://me:secret@db/app', 'postgres://me:***@db/app'],
  ['redis://:secret@db:6379/1', 'redis://:***@db:6379/1'],
  ['postgres://me@db/app', 'postgres://me@db/app'],
  ['127.0.0.1:9092', '127.0.0.1:9092'],
])('the password of %s is not shown', (url, shown) => {
  expect(withoutPassword(url)).toBe(shown)
})
