import { type Command, parseCommandLine } from '@waybill/services'
import { describe, expect, test } from 'vitest'

const all = ['kafka', 'postgres', 'mysql', 'redis']
const usual: Command = { action: 'up', names: all as never, isPrivate: false, json: false, brokers: undefined }

describe('the command line', () => {
  test.each<[string[], Partial<Command>]>([
    [[], {}],
    [['up'], {}],
    [['down'], { action: 'down', names: [...all, 'registry'] as never }],
    [['up', 'registry'], { names: ['registry'] }],
    [['status', '--json'], { action: 'status', json: true }],
    [['up', 'kafka', 'redis'], { names: ['kafka', 'redis'] }],
    [['up', '--private', '--brokers', '3'], { isPrivate: true, brokers: 3 }],
    [['--brokers=1', 'up'], { brokers: 1 }],
  ])('%j is read', (args, expected) => {
    expect(parseCommandLine(args, {})).toEqual({ ...usual, ...expected })
  })

  test.each([['--help'], ['-h']])('%s asks for help', (flag) => {
    expect(parseCommandLine([flag], {})).toBeUndefined()
  })

  test.each([
    [['statsu'], /"statsu" is unknown. Use one of up, down, status. Did you mean status\?/],
    [['up', 'postgress'], /Did you mean postgres\?/],
    [['up', 'oracle'], /"oracle" is unknown. Use one of kafka, postgres, mysql, redis, registry/],
    [['up', '--brokers', '0'], /a number from 1 to 9, not "0"/],
    [['up', '--brokers', 'three'], /not "three"/],
    [['up', '--broker', '3'], /Did you mean brokers\?/],
    [['up', '--jsno'], /Did you mean json\?/],
    [['down', '--brokers', '3'], /--brokers sets the number of Kafka brokers/],
    [['up', 'redis', '--brokers', '3'], /valid only when `up` starts Kafka/],
  ])('%j is refused with what would be right', (args, message) => {
    expect(() => parseCommandLine(args, {})).toThrow(message)
  })

  test.each(['private', 'brokers', 'json'])('--%s that npm took for its own is not ignored', (flag) => {
    expect(() => parseCommandLine(['status'], { [`npm_config_${flag}`]: 'true' })).toThrow(
      `Write -- before it: npm run services -- status --${flag}`,
    )
  })
})
