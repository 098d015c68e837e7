import { KafkaError } from '../cluster/kafka-error.ts'

/** Two processes have one instance id, and the other one came later. */
export function fencedError(groupId: string, instanceId: string | null): KafkaError {
  return new KafkaError(`Another member of group ${groupId} has the instance id ${instanceId}.`, 'FENCED', {
    reason: 'FENCED_INSTANCE_ID',
    hint: 'Give each process an instance id of its own.',
  })
}
