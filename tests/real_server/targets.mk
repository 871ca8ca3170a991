# The real SGLang server, on the CPU. Not part of `make test`: it takes 1.4 GB of disk and about a quarter of an hour.

rig := PYTHONPATH=tests/real_server $(bin)/python -m rig

.PHONY: real-server
real-server: collection ## Build the real SGLang server for this machine's CPU
	@$(rig) build

.PHONY: demo-real
demo-real: real-server ## MTP turned on and proven on a real SGLang server, without a GPU
	@tests/real_server/demo

.PHONY: demo-real-clean
demo-real-clean: ## Remove the node of the real server
	@$(rig) down

.PHONY: test-real
test-real: real-server ## The playbook against a real SGLang server, with right and wrong checkpoints
	PYTHONPATH=$(collections):tests/real_server:molecule/shared $(bin)/python -m pytest tests/real_server
