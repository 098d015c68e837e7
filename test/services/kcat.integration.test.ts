import { describeWith, runProgram } from '@waybill/test-support'
import { expect, test } from 'vitest'

describeWith('kafka')('kcat', ({ kafka }) => {
  test('kcat reads back the record that it wrote to the shared Kafka', async ({ skip }) => {
    skip((await runProgram('kcat', ['-V'])) === undefined, 'kcat is not installed (Debian: apt-get install kcat)')
    const topic = await kafka.createTopic('orders')
    const place = ['-b', kafka.bootstrap.join(','), '-t', topic]
    const written = await runProgram('kcat', ['-P', ...place, '-K', ':'], { input: 'order-1:{"total":42}\n' })
    expect(written).toMatchObject({ code: 0 })
    const format = '%p/%o %k %s\n'
    const read = await runProgram('kcat', ['-C', ...place, '-o', 'beginning', '-e', '-q', '-f', format])
    expect(read).toMatchObject({ code: 0, stdout: '0/0 order-1 {"total":42}\n' })
  })
})
