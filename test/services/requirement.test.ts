import { readRequirements } from '@waybill/test-support'
import { expect, test } from 'vitest'

test.each([
  [undefined, [], []],
  ['', [], []],
  ['kafka', ['kafka'], []],
  [' kafka, postgres ,mysql,redis,registry,node22,', ['kafka', 'postgres', 'mysql', 'redis', 'registry', 'node22'], []],
  ['kafak', [], [/names "kafak"; did you mean kafka\?/]],
  ['redis,oracle', ['redis'], [/names "oracle"; known are kafka, postgres, mysql, redis, registry, node22/]],
])('WAYBILL_REQUIRE=%s is read', (value, names, problems) => {
  const requirements = readRequirements(value === undefined ? {} : { WAYBILL_REQUIRE: value })
  expect(requirements.names).toEqual(names)
  expect(requirements.problems).toEqual(problems.map((problem) => expect.stringMatching(problem)))
})
