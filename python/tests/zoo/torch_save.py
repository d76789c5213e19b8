"""Saves and loads a model and an optimizer's state, pickles and copies them, and lists the state."""
# gpu: yes
import copy
import io
import pickle

import torch

model = torch.nn.BatchNorm1d(64).to("cuda")
optimizer = torch.optim.Adam(model.parameters())
(model.weight.sum() + model.bias.sum()).backward()
optimizer.step()
file = io.BytesIO()
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
file.seek(0)
loaded = torch.load(file, weights_only=True)
copied = copy.deepcopy(model)
again = pickle.loads(pickle.dumps(optimizer))
print(file.getbuffer().nbytes, sorted(loaded["model"]), len(again.state), type(copied).__name__)
print(model.train.__qualname__, model.eval() is model, model.training, sorted(vars(optimizer)))
